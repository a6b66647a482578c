package sdk

import "github.com/drawbridge-mcp/drawbridge/abi"

// AuthExpired says that nobody is signed in, where the manifest's conditions
// could not tell.
func AuthExpired(format string, args ...any) error {
	return abi.Errorf(abi.ErrAuthExpired, "", format, args...)
}

// Forbidden says that the account may not see or do this.
func Forbidden(format string, args ...any) error {
	return abi.Errorf(abi.ErrForbidden, "", format, args...)
}

// NotFound says that the thing asked for does not exist.
func NotFound(format string, args ...any) error {
	return abi.Errorf(abi.ErrNotFound, "", format, args...)
}

// Drift says that the page no longer looks as the connector expects.
func Drift(format string, args ...any) error {
	return abi.Errorf(abi.ErrSelectorDrift, "", format, args...)
}

// InvalidArgs says that the arguments fit the schema and make no sense.
func InvalidArgs(format string, args ...any) error {
	return abi.Errorf(abi.ErrInvalidArgs, "", format, args...)
}
