// Package gate decides whether a call may run: allow, ask or refuse.
//
// A tool that is not destructive runs if policy does not forbid it. One that
// is asks a person, out of band, unless the user's policy allows it by name. An
// answer is bound to the [Digest] of everything the person was shown and
// everything that would run; it is consumed once, by the identical call of the
// same principal, and nothing runs after its caller has left.
//
// A call waits for its answer for 45 seconds at most, because clients give up
// soon after. It then ends with confirmation_required, and the request stays
// open: an answer within ten minutes of the question is kept for ten minutes,
// for the call to come back.
//
// Whoever answers must sit at a terminal, retype a code, and not descend from
// a connected client: a coding agent has a shell of the same user. See
// [CheckApprover] for what this stops, and what it does not.
//
// A client that a person trusts to ask may put the question in a dialog of its
// own ([Inquiry]); its answer counts like one from a terminal, for that client's
// own calls alone. In the protocol's stateless era the question travels to the
// client and back as a sealed state: see state.go.
//
// Everything is in memory and ends with the daemon. Read gate.go first: Allow
// is the caller's side; decide.go is the person's, inquiry.go the client's.
package gate
