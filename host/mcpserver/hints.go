package mcpserver

import (
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// usualHint is what to do next after an error that brings no hint of its own.
func usualHint(code abi.Code) string {
	switch code {
	case abi.ErrAuthExpired:
		return "ask the user to sign in: drawbridge login CONNECTOR"
	case abi.ErrForbidden:
		return "the signed-in account may not do this: tell the user"
	case abi.ErrNotFound:
		return "check the name or number, or list what there is"
	case abi.ErrInvalidArgs:
		return "call again with arguments that fit the tool's input schema"
	case abi.ErrLimitExceeded:
		return "call again for less: a filter, or a lower limit"
	case abi.ErrTimeout, abi.ErrPageCrashed, abi.ErrPageClosed, abi.ErrStaleRef, abi.ErrCoveredBy, abi.ErrDialogOpen:
		return "call again once; if it fails the same way, tell the user"
	case abi.ErrBrowserGone, abi.ErrConsentPending:
		return "tell the user to look at the browser: drawbridge doctor"
	case abi.ErrConfirmationRequired:
		return "tell the user that drawbridge approvals answers it, then make the identical call again"
	case abi.ErrConfirmationDenied:
		return "do not try again or in another way, unless the user asks for it"
	case abi.ErrOutcomeUnknown:
		return "something may have been written: look before you call again, and ask the user"
	case abi.ErrSelectorDrift, abi.ErrTargetAmbiguous, abi.ErrInvalidResult, abi.ErrGuestTrap, abi.ErrOriginDenied, abi.ErrCapabilityDenied,
		abi.ErrUnsupportedAction:
		return "calling again won't help: tell the user that the connector may need an update"
	case abi.ErrUntrusted:
		return "tell the user: drawbridge list says why"
	case abi.ErrInternal:
		return "tell the user: drawbridge audit and drawbridge logs say more"
	}
	return "tell the user"
}

// wrongCall is an error of the protocol, for a call that can't be made out, in the
// words of any other error: its message is all that most clients show.
func wrongCall(code abi.Code, msg string) *rpcError {
	hint := usualHint(code)
	if code == abi.ErrNotFound {
		hint = "list the tools again: they change when connectors come and go"
	}
	return &rpcError{code: mcp.INVALID_PARAMS, msg: spelled(code, msg, hint), data: map[string]any{"code": code}}
}
