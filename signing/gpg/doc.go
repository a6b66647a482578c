// Package gpg signs with a key of the user's own GnuPG, which may be held by its
// agent or stand on a smart card. It runs the gpg program with a fixed list of
// options and of environment variables and none of the user's gpg.conf, and trusts
// nothing that gpg says: every signature goes through package signing before it is
// handed out. It makes, changes and imports no keys.
//
// Start reading at gpg.go; status.go holds the parsing of what gpg reports.
package gpg
