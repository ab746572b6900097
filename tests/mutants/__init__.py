"""Mutation testing: which small changes to the code does no test notice?"""
