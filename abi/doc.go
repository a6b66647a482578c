// Package abi is the contract between the host and a connector.
package abi
