"""Where items are: DynamoDB or memory, behind one interface, and the store that works on it."""
