"""Export archives of chats on the web: ChatGPT's and Claude.ai's, as zip files or as the JSON in them."""
