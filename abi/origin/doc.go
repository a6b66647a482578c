// Package origin parses URLs, origins, match patterns, path templates and query
// strings, and it parses them as browsers do.
//
// What a page may load is decided here and fetched by a browser, so the two have
// to agree on every host. net/url does not: it reads https:\\evil.test\ and
// https://0x7f.1/ in its own way. This package stands on a parser of the WHATWG
// URL standard and refuses, beyond the standard, what no honest caller needs:
// userinfo, control characters, schemes other than http and https, and the few
// spellings on which parsers of the standard still differ.
//
// The four things that a manifest may say about addresses:
//
//	https://*.example.com:8443/docs/*    a Pattern: scheme, host, port and path
//	https://tracker.example.com          an Origin, as browsers serialise it
//	/ticket/{id}/comment                 a Template, with one typed Param per {name}
//	id=12&Format=full                    a query string, read by ParseQuery
//
// A Pattern without a port means the scheme's default port. It never means every
// address: <all_urls>, a wildcard over a public suffix and userinfo are refused.
//
// Read url.go first.
package origin
