// Package signing says who signed some bytes, judged against certificates and
// fingerprints that the caller trusts.
//
// There is one way to ask, [Verify], and its answer is decided on the error
// alone. The [Verdict] that comes with a nil error names the signers; the zero
// Verdict names nobody and means untrusted. The package states facts: which
// fingerprints may sign what, and how many are needed, is the caller's
// decision ([Trust]). The only policy here is how strict a signature has to be:
//
//   - detached binary signatures of version 4 or 6 only, in one armored block or
//     as bare packets, with nothing before, between or after them;
//   - SHA-256, SHA-384, SHA-512, SHA3-256 or SHA3-512, for the signature and for
//     every self signature that it rests on; RSA from 2048 bits; no DSA, no
//     ElGamal, no brainpool curves, no secp256k1;
//   - the issuer's whole fingerprint inside the signed part. Unsigned parts of a
//     signature are cut away before anything looks at them;
//   - a key that was allowed to sign at the date of the signature, and, in
//     [Install] mode, still is. A revocation in any copy of a certificate counts.
//
// A signature file can be changed without becoming invalid (its unsigned parts),
// so nothing may be identified by the hash of its signature.
//
// [GenerateKey], [OpenSecretKey] and [SecretKey.Sign] are the other direction,
// for authors and registry maintainers. Keys are armored files of their own; the
// user's GnuPG home is never read or written.
//
// Start reading at verify.go; frame.go and signature.go hold the parsing of
// hostile bytes, keycheck.go the question whether a key may sign at a date.
package signing
