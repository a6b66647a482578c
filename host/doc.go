// Package host carries one call from its caller to the page and back.
package host
