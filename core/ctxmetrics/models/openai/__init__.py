"""A model behind a server that speaks the API of OpenAI."""
