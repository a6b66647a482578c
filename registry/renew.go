package registry

import (
	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// renewKey takes a newer copy of a publisher's certificate in: one that expires later
// or carries more revocations, and loses none.
func (e *edit) renewKey(c signing.Certificate, namespace string) error {
	data, err := e.read(keyPath(c.Fingerprint))
	if err != nil {
		return err
	}
	old, err := signing.ReadCertificate(data, c.Fingerprint)
	if err != nil {
		return err
	}
	if !c.KeepsRevocationsOf(old) {
		return refuse(abi.ReasonKeyRevoked, []signing.Fingerprint{c.Fingerprint}, "the registry's copy of certificate %s is revoked, and this one lacks the revocation", c.Fingerprint)
	}
	was, err := old.Info(e.now)
	if err != nil {
		return err
	}
	is, err := c.Info(e.now)
	if err != nil {
		return err
	}
	later := !was.Expires.IsZero() && (is.Expires.IsZero() || is.Expires.After(was.Expires))
	if !later && old.KeepsRevocationsOf(c) {
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q is a publisher of %q already, and this certificate of it lasts no longer", c.Fingerprint, namespace)
	}
	e.addKey(c)
	return nil
}
