// Package keyring keeps the keys of an author or a maintainer: one file a key in
// one directory, named by the whole fingerprint, for its owner alone. A secret key
// is there only in its encrypted form; the package never sees a passphrase. It
// decides nothing: what a key is trusted for is not written down here.
//
// Start reading at keyring.go.
package keyring
