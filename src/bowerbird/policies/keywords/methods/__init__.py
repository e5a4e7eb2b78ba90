"""The methods of keyword adaptation, one file each."""
