"""Contrary words with exchanged names say the same; with the same order of names they contradict each other."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.evidence.contradiction import find_contradiction

CONVERSES = [
    ("Oslo lies north of Rome.", "Rome lies south of Oslo.", "en"),
    ("The tower is higher than the mast.", "The mast is lower than the tower.", "en"),
    ("Socrates was the teacher of Plato.", "Plato was the student of Socrates.", "en"),
    ("Ravi sold the house to Mia.", "Mia bought the house from Ravi.", "en"),
    ("The bank lent money to the farmer.", "The farmer borrowed money from the bank.", "en"),
    ("Deer are the prey of wolves.", "Wolves are the predators of deer.", "en"),
    ("Chile exports copper to China.", "China imports copper from Chile.", "en"),
    ("Ann is older than Ben.", "Ben is younger than Ann.", "en"),
    ("Greece won against Spain.", "Spain lost against Greece.", "en"),
    ("Alaska has more bears than Texas.", "Texas has fewer bears than Alaska.", "en"),
    ("Rent is higher in Rome than in Bari.", "Rent is lower in Bari than in Rome.", "en"),
    ("The dam is upstream of the mill.", "The mill is downstream of the dam.", "en"),
    ("Oslo liegt nördlich von Rom.", "Rom liegt südlich von Oslo.", "de"),
    ("Der Turm ist höher als der Mast.", "Der Mast ist niedriger als der Turm.", "de"),
    ("Lille est au nord de Paris.", "Paris est au sud de Lille.", "fr"),
    ("La torre è più alta del ponte.", "Il ponte è più basso della torre.", "it"),
    ("Marta è più alta di Carla.", "Carla è più bassa di Marta.", "it"),
    ("Башня выше дома.", "Дом ниже башни.", "ru"),
    ("The museum is opposite the bank.", "The bank is opposite the museum.", "en"),
    ("La zuppa contiene sale.", "La zuppa contiene sale ma non pepe.", "it"),
    # Both sides of "is", and adverbs, may stand in any order.
    ("Paris is the capital.", "The capital is Paris.", "en"),
    ("Today she sang here.", "Here she sang today.", "en"),
    ("Paris ist die Hauptstadt.", "Die Hauptstadt ist Paris.", "de"),
    ("Paris ist die Hauptstadt.", "Die Hauptstadt ist Paris.", "en"),  # the language is guessed
    # Members of a series may stand in any order.
    ("The dog and the cat sleep.", "The cat and the dog sleep.", "en"),
    ("Der Hund und die Katze schlafen.", "Die Katze und der Hund schlafen.", "de"),
    ("Anna jest starsza niż Ewa.", "Ewa jest młodsza niż Anna.", "pl"),
    ("Анна старше Ольги.", "Ольга младше Анны.", "ru"),
    ("Add salt and pepper and oil.", "Add oil and pepper and salt.", "en"),
    (
        "The brown bread and the white wine are free.",
        "The white wine and the brown bread are free.",
        "en",
    ),
]
CONTRARY = [
    # Phrases of several words are exchanged, or phrases with "and" and other words between them.
    (
        "Plants absorb carbon dioxide and release oxygen.",
        "Plants absorb oxygen and release carbon dioxide.",
        "en",
    ),
    (
        "He sold the old boat and kept the new tractor.",
        "He sold the new tractor and kept the old boat.",
        "en",
    ),
    ("Mix two parts sand with one part lime.", "Mix one part sand with two parts lime.", "en"),
    ("Il treno arriva prima delle otto.", "Il treno arriva dopo le otto.", "it"),
    ("O banco fecha antes das três.", "O banco fecha depois das três.", "pt"),
    ("Анна старше Ольги.", "Анна младше Ольги.", "ru"),
    ("Paul ist älter als Jonas.", "Paul ist jünger als Jonas.", "de"),
    ("The dog bit the man.", "The man bit the dog.", "en"),
    ("A dog is an animal.", "An animal is a dog.", "en"),
    ("Anna is the sister of Bert.", "Bert is the sister of Anna.", "en"),
    ("Oslo lies north of Rome.", "Oslo lies south of Rome.", "en"),
    ("The tower is higher than the mast.", "The tower is lower than the mast.", "en"),
    ("Socrates was the teacher of Plato.", "Socrates was the student of Plato.", "en"),
    ("Chile exports copper to China.", "Chile imports copper from China.", "en"),
    ("Ann is older than Ben.", "Ann is younger than Ben.", "en"),
    # A phrase only moves, with its preposition.
    ("In the final Graz won.", "Graz lost in the final.", "en"),
    ("Im Finale gewann Graz.", "Graz verlor im Finale.", "de"),
    ("Im Mai stiegen die Preise.", "Die Preise sanken im Mai.", "de"),
    ("In May the sales of the shop rose.", "The sales of the shop fell in May.", "en"),
    ("The lake is the deepest in Europe.", "The lake is the second deepest in Europe.", "en"),
    (
        "The new pump is cheaper than the old one.",
        "The new pump is more expensive than the old one.",
        "en",
    ),
    ("价格上涨了。", "价格下跌了。", "zh"),
    ("所有员工都有奖金。", "部分员工有奖金。", "zh"),
    ("他没有参加会议。", "他参加了会议。", "zh"),
    ("至少需要五个人。", "最多需要五个人。", "zh"),
    ("切符は日曜日に有効です。", "切符は日曜日に有効ではありません。", "ja"),
    ("The store is near the station.", "The store is far from the station.", "en"),
    ("The policy covers theft.", "The policy excludes theft and fire.", "en"),
]


@pytest.mark.parametrize(("unit", "sentence", "language"), CONVERSES)
def test_contrary_word_with_exchanged_names_says_the_same(unit, sentence, language):
    for tag in {language, "en"}:  # the language of a short text is a guess
        assert find_contradiction(unit, [sentence], tag, is_quoted=True) is None


@pytest.mark.parametrize(("unit", "sentence", "language"), CONTRARY)
def test_contrary_word_with_names_in_their_places(unit, sentence, language):
    assert find_contradiction(unit, [sentence], language, is_quoted=True) is not None
