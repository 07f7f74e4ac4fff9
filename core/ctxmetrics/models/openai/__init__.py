"""Models on servers with the API of OpenAI."""
