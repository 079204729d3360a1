import { isIPv6 } from 'node:net';

/** The fields of Go 1.26's `url.Parse` that are used here. */
export interface GoUrl {
  readonly scheme: string;
  readonly hasUser: boolean;
  readonly query: string;
  readonly fragment: string;
}

/** Go's own error for a URL that it cannot parse. */
export class GoUrlError extends Error {}

/** `net/url` of Go, with its error messages. */
export function parseGoUrl(raw: string): GoUrl {
  const hash = raw.indexOf('#');
  const [text, fragment] = hash < 0 ? [raw, ''] : [raw.slice(0, hash), raw.slice(hash + 1)];
  if ([...text].some((letter) => letter < ' ' || letter === '\u007f'))
    throw new GoUrlError('net/url: invalid control character in URL');
  const url = { ...parse(text), fragment };
  checkEscapes(fragment, 'path');
  return url;
}

function parse(text: string): Omit<GoUrl, 'fragment'> {
  if (text.startsWith(':')) throw new GoUrlError('missing protocol scheme');
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1] ?? '';
  const after = scheme === '' ? text : text.slice(scheme.length + 1);
  const mark = after.indexOf('?');
  const [rest, query] = mark < 0 ? [after, ''] : [after.slice(0, mark), after.slice(mark + 1)];
  const url = { scheme: scheme.toLowerCase(), query };
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...url, hasUser: false };
    if (rest.split('/')[0]?.includes(':')) throw new GoUrlError('first path segment in URL cannot contain colon');
  }
  return { ...url, hasUser: checkRest(rest, url.scheme) };
}

/** Authority and path. Reports whether there is a user. */
function checkRest(rest: string, scheme: string): boolean {
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'));
  if (!hasAuthority) {
    checkEscapes(rest, 'path');
    return false;
  }
  const slash = rest.indexOf('/', 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  const at = authority.lastIndexOf('@');
  checkHost(authority.slice(at + 1), scheme);
  if (at >= 0) checkUser(authority.slice(0, at));
  checkEscapes(slash < 0 ? '' : rest.slice(slash), 'path');
  return at >= 0;
}

function checkUser(user: string): void {
  if (!/^[A-Za-z0-9._:~!$&'()*+,;=%@-]*$/.test(user)) throw new GoUrlError('net/url: invalid userinfo');
  checkEscapes(user, 'path');
}

function checkHost(host: string, scheme: string): void {
  const open = host.lastIndexOf('[');
  if (open > 0) throw new GoUrlError('invalid IP-literal');
  if (open === 0) {
    checkLiteral(host);
    return;
  }
  const strict = scheme === 'http' || scheme === 'https';
  const colon = strict ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0) checkPort(host.slice(colon));
  checkEscapes(host, 'host');
}

function checkLiteral(host: string): void {
  const close = host.lastIndexOf(']');
  if (close < 0) throw new GoUrlError("missing ']' in host");
  checkPort(host.slice(close + 1));
  const name = host.slice(1, close);
  const zone = name.indexOf('%25');
  const address = checkEscapes(zone < 0 ? name : name.slice(0, zone), 'host');
  if (!isIPv6(address) || (zone >= 0 && name.length === zone + 3)) throw new GoUrlError('invalid host');
}

function checkPort(text: string): void {
  if (!/^(:\d*)?$/.test(text)) throw new GoUrlError(`invalid port ${JSON.stringify(text)} after host`);
}

const hostLetters = /[A-Za-z0-9!$&'()*+,;=:[\]<>"\-_.~]/;

/** In a host only bytes beyond ASCII and a percent sign may be escaped. */
function checkEscapes(text: string, where: 'host' | 'path'): string {
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i] ?? '';
    if (letter === '%') {
      const word = text.slice(i, i + 3);
      const isWhole = /^%[0-9A-Fa-f]{2}$/.test(word);
      const isAllowed = where === 'path' || word === '%25' || Number.parseInt(word.slice(1), 16) >= 0x80;
      if (!isWhole || !isAllowed) throw new GoUrlError(`invalid URL escape ${JSON.stringify(word)}`);
      i += 2;
    } else if (where === 'host' && letter < '\u0080' && !hostLetters.test(letter))
      throw new GoUrlError(`invalid character ${JSON.stringify(letter)} in host name`);
  }
  return text;
}
