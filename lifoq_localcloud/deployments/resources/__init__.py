"""CloudFormation resource types and properties that moto passes over, a module for each kind of
thing.

moto creates most of our resources itself. The types of these modules it skips with a warning, and
of some it drops properties. Each is created with the calls of the service's own API, so that any
client sees it afterwards, and changes it in the same way.

moto finds a type as soon as its class is defined: ``types`` imports all of them.
"""
