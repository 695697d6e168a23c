"""Checks of deploy/k8s: what kustomize makes of it is valid, restricted, and says the same as the programs. tools/lint/manifests runs them."""
