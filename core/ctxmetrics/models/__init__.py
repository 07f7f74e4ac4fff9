"""Language models: the protocol, OpenAI-compatible servers, and what the models of frameworks share."""
