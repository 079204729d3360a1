import { isIPv4, isIPv6 } from 'node:net';

/**
 * The grammar of OIDC issuer settings from all sources: a kube-apiserver that cannot parse its trust does not start.
 * The grammar is narrower than that of any supported version (`pkg/apis/apiserver/validation` of k8s.io/apiserver,
 * `net/url` of Go) and limited to printable ASCII, because a value passes through YAML, CEL and the command line of a
 * Pod. Each function returns a sentence that states the problem and the fix.
 */

/** Maximum lengths in characters. A prefix is at most the name of a request (253) and a colon. */
export const maxLengths = { issuer: 512, clientId: 256, claim: 256, prefix: 254 } as const;

/** Prefix of the users and groups of Kubernetes itself. */
export const systemPrefix = 'system:';

const printable = /^[!-~]*$/;
const hostLabel = /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;
/**
 * Of RFC 3986: unreserved characters, sub-delimiters, colon, at, slash, and percent signs, which are checked
 * separately.
 */
const pathCharacters = /^[A-Za-z0-9._~!$&'()*+,;=:@/%-]*$/;
const unescapedPercent = /%(?![0-9A-Fa-f]{2})/;

const findLengthProblem = (text: string, max: number): string | undefined =>
  text.length > max ? `It is longer than ${max} characters. Shorten it.` : undefined;

/** Checks an issuer, or the URL of its metadata. */
export function findIssuerProblem(text: string): string | undefined {
  const long = findLengthProblem(text, maxLengths.issuer);
  if (long !== undefined) return long;
  const rest = text.slice('https://'.length);
  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? '' : rest.slice(slash);
  if (!text.startsWith('https://') || authority.includes('@') || /[?#]/.test(text))
    return 'Kubernetes requires an https:// URL without user, query and fragment. Use one.';
  if (!isAuthority(authority))
    return 'The host must be an ASCII DNS name or an IP address (IPv6 in brackets), with an optional port from 1 to 65535. Correct it.';
  if (unescapedPercent.test(path)) return 'The path contains a % without two hexadecimal digits. Correct it.';
  if (!pathCharacters.test(path)) return 'The path contains a character that must be escaped. Correct it.';
  return undefined;
}

function isAuthority(text: string): boolean {
  const bracketed = /^\[([0-9A-Fa-f:.]{2,45})\](.*)$/.exec(text);
  const colon = text.lastIndexOf(':');
  const host = bracketed?.[1] ?? (colon < 0 ? text : text.slice(0, colon));
  const port = bracketed ? (bracketed[2] ?? '') : colon < 0 ? '' : text.slice(colon);
  const isHost = bracketed ? isIPv6(host) : isIPv4(host) || isHostName(host);
  return isHost && (port === '' || isPort(port));
}

const isHostName = (host: string): boolean =>
  host.length <= 253 && host.split('.').every((label) => hostLabel.test(label));
const isPort = (text: string): boolean => /^:[1-9][0-9]{0,4}$/.test(text) && Number(text.slice(1)) <= 65_535;

const findWordProblem = (text: string, max: number): string | undefined =>
  findLengthProblem(text, max) ??
  (printable.test(text) ? undefined : 'It contains a control character, a space, or a non-ASCII letter. Remove it.');

const findNonEmptyWordProblem = (text: string, max: number): string | undefined =>
  text === '' ? 'It is empty. Set it.' : findWordProblem(text, max);

export const findClientIdProblem = (text: string): string | undefined =>
  findNonEmptyWordProblem(text, maxLengths.clientId);
export const findClaimProblem = (text: string): string | undefined => findNonEmptyWordProblem(text, maxLengths.claim);
/** Empty: no prefix. */
export const findPrefixProblem = (text: string): string | undefined => findWordProblem(text, maxLengths.prefix);

/**
 * Whether some value of a claim can form a name of Kubernetes with this prefix: `''`, `s` and `system` allow it as well
 * as `system:node:`.
 */
export const allowsSystemNames = (prefix: string): boolean =>
  prefix.startsWith(systemPrefix) || systemPrefix.startsWith(prefix);
