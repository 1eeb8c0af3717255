"""How fast is the report, and what does it need?"""
