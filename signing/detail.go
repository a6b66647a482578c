package signing

import (
	"errors"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Detail says exactly which rule refused a signature. It is finer than
// [abi.Reason], which it maps onto; the list is append-only.
type Detail string

// The details of a refusal.
const (
	DetailMalformed         Detail = "malformed"
	DetailTooLarge          Detail = "too-large"
	DetailTooManySignatures Detail = "too-many-signatures"
	DetailNotDetached       Detail = "not-a-detached-signature"
	DetailNotBinary         Detail = "not-binary-signature"
	DetailUnsupported       Detail = "unsupported"
	DetailCriticalUnknown   Detail = "critical-unknown"
	DetailNoIssuer          Detail = "no-issuer-fingerprint"
	DetailUnknownSigner     Detail = "unknown-signer"
	DetailNoSelfSignature   Detail = "no-self-signature"
	DetailNoCrossSignature  Detail = "no-cross-signature"
	DetailWrongUsage        Detail = "wrong-usage"
	DetailBadSignature      Detail = "bad-signature"
	DetailSignatureExpired  Detail = "signature-expired"
	DetailSignatureFuture   Detail = "signature-from-the-future"
	DetailOlderThanKey      Detail = "signature-older-than-key"
	DetailKeyExpired        Detail = "key-expired"
	DetailKeyRevoked        Detail = "key-revoked"
	DetailWeakHash          Detail = "weak-hash"
	DetailWeakKey           Detail = "weak-key"
	DetailAlgorithm         Detail = "algorithm-not-allowed"
	DetailThreshold         Detail = "threshold"
	DetailWrongCertificate  Detail = "wrong-certificate"
	DetailDesignatedRevoker Detail = "designated-revoker"
)

// Reason returns the closed reason that d belongs to.
func (d Detail) Reason() abi.Reason {
	switch d {
	case DetailUnknownSigner, DetailNoSelfSignature, DetailNoCrossSignature, DetailWrongUsage,
		DetailWrongCertificate, DetailDesignatedRevoker:
		return abi.ReasonUnknownKey
	case DetailBadSignature, DetailSignatureExpired, DetailSignatureFuture, DetailOlderThanKey:
		return abi.ReasonBadSignature
	case DetailKeyExpired:
		return abi.ReasonKeyExpired
	case DetailKeyRevoked:
		return abi.ReasonKeyRevoked
	case DetailWeakHash, DetailWeakKey, DetailAlgorithm:
		return abi.ReasonWeakAlgorithm
	case DetailThreshold:
		return abi.ReasonUnsigned
	case DetailMalformed, DetailTooLarge, DetailTooManySignatures, DetailNotDetached, DetailNotBinary,
		DetailUnsupported, DetailCriticalUnknown, DetailNoIssuer:
		return abi.ReasonMalformed
	}
	return abi.ReasonMalformed
}

// DetailOf returns the detail of an error from this package, or "".
func DetailOf(err error) Detail {
	if d, ok := errors.AsType[*detailError](err); ok {
		return d.detail
	}
	return ""
}

// A detailError is the cause inside the *abi.Error of a refusal.
type detailError struct {
	detail Detail
	cause  error // what the library said; may be nil
}

func (e *detailError) Error() string {
	if e.cause == nil {
		return string(e.detail)
	}
	return string(e.detail) + ": " + e.cause.Error()
}

func (e *detailError) Unwrap() error { return e.cause }

func refuse(d Detail, format string, args ...any) error {
	return refuseFor(nil, d, format, args...)
}

func refuseFor(cause error, d Detail, format string, args ...any) error {
	return &abi.Error{
		Code:   abi.ErrUntrusted,
		Reason: d.Reason(),
		Op:     "verify signature",
		Msg:    fmt.Sprintf(format, args...),
		Err:    &detailError{d, cause},
	}
}
