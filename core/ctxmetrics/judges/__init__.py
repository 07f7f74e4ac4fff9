"""Judges and the models behind them."""
