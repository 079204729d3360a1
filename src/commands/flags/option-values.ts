import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { maxRecipients, recipientLength, recipientPattern } from '../../api/schema/backup-schema.ts';
import type { BindAddress } from '../../server/listen.ts';

/** The names of the controllers on the command line. */
export const controllerFlagValues = ['providerconfig', 'cluster', 'machine', 'host', 'accessrequest'] as const;
export type ControllerFlagValue = (typeof controllerFlagValues)[number];

/** The spellings that Go's flag packages accept, because the peers are started with them. */
export function parseBoolean(value: string): boolean {
  const item = value.toLowerCase();
  if (['1', 't', 'true'].includes(item)) return true;
  if (['0', 'f', 'false'].includes(item)) return false;
  throw new InvalidArgumentError('Use true or false.');
}

/** The choice in lower case. `-v=debug`: everything after a short flag is its value, including `=`. */
export const parseChoice =
  <T extends string>(choices: readonly T[]) =>
  (value: string): T => {
    const item = value.replace(/^=/, '').toLowerCase();
    const choice = choices.find((one) => one === item);
    if (choice === undefined) throw new InvalidArgumentError(`Use one of ${choices.join(', ')}.`);
    return choice;
  };

export function parseRequiredText(value: string): string {
  if (value === '') throw new InvalidArgumentError('The value is empty.');
  return value;
}

/** Maximum length of a label value. */
export const maxNameLength = 63;

/** Both names become part of a ClusterProfile's name and of label values, so both rules apply. */
export function parseName(value: string): string {
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value);
  if (isName && value.length <= maxNameLength) return value;
  throw new InvalidArgumentError(
    `Use at most ${maxNameLength} lower-case letters, digits, - and ., with a letter or digit first and last.`,
  );
}

/** `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` or an empty value disables it. */
export function parseBindAddress(value: string): BindAddress | null {
  if (value === '' || value === '0') return null;
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]*)):([0-9]{1,5})$/.exec(value) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65535) throw new InvalidArgumentError('Use e.g. :8080 or 127.0.0.1:8080, or 0.');
  return { host: bracketed ?? plain ?? '', port };
}

export function parseControllers(list: string): readonly ControllerFlagValue[] {
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  const isKnown = (name: string) => (controllerFlagValues as readonly string[]).includes(name);
  if (names.every(isKnown)) return controllerFlagValues.filter((name) => names.includes(name));
  throw new InvalidArgumentError(`Use a comma-separated list of ${controllerFlagValues.join(', ')}.`);
}

/** Namespace and name of an object. */
export interface ClusterFlagValue {
  readonly namespace: string;
  readonly name: string;
}

export function parseClusterName(value: string): ClusterFlagValue {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(value) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new InvalidArgumentError('Use a namespace and a name, e.g. shop/prod.');
}

/** Roles of `kubeconfig --role`. */
export const kubeconfigRoles = ['reader', 'admin'] as const;
export type KubeconfigRole = (typeof kubeconfigRoles)[number];

const minTtlSeconds = 5 * 60;
const maxTtlSeconds = 24 * 60 * 60;

/** Seconds of a duration such as `8h`, `30m` or `1h30m`, within the limits of a client certificate. */
export function parseTtl(value: string): number {
  const [match, hours = 0, minutes = 0, seconds = 0] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(value) ?? [];
  if (!match) throw new InvalidArgumentError('Use hours and minutes, e.g. 8h, 30m or 1h30m.');
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  if (total < minTtlSeconds) throw new InvalidArgumentError('Use at least 5m.');
  if (total <= maxTtlSeconds) return total;
  throw new InvalidArgumentError(
    'Use at most 24h: a certificate cannot be revoked before it expires. Run the command again when it has.',
  );
}

/** Maximum length of an attribute of a certificate's subject (RFC 5280, appendix A.1). */
export const maxSubjectLength = 64;

/** One more group of a client certificate. Groups of Kubernetes itself are rejected. */
export function parseGroups(value: string, previous: readonly string[] = []): readonly string[] {
  if (value === 'system:masters') throw new InvalidArgumentError('Use --role admin for this group.');
  if (value.startsWith('system:'))
    throw new InvalidArgumentError('Use a group of your own: those that begin with system: belong to Kubernetes.');
  if (!/^[A-Za-z0-9][-\w.:@/]*$/.test(value) || value.length > maxSubjectLength)
    throw new InvalidArgumentError(
      `Use at most ${maxSubjectLength} letters, digits and -_.:@/, with a letter or digit first.`,
    );
  return [...previous, value];
}

/** One more public key of age. A private one, which would be in the history of the shell, is named as such. */
export function parseRecipients(value: string, previous: readonly string[] = []): readonly string[] {
  if (/^age-secret-key-/i.test(value))
    throw new InvalidArgumentError('This is a private key. Use the public key, which begins with age1.');
  const { min, max } = recipientLength;
  if (value.length < min || value.length > max || !recipientPattern.test(value))
    throw new InvalidArgumentError('Use the public key of an identity, age1…, as age-keygen prints it.');
  if (previous.length >= maxRecipients) throw new InvalidArgumentError(`Use at most ${maxRecipients} public keys.`);
  return [...previous, value];
}

/** Path of a file with identities. An identity itself, which would be in the history of the shell, is named as such. */
export function parseIdentityPath(value: string): string {
  if (/^age-secret-key-/i.test(value))
    throw new InvalidArgumentError('This is a private key. Use the path of the file that it is in.');
  return parseRequiredText(value);
}

/** A cluster of Kubernetes has 5,000 nodes at most. */
const maxAddresses = 5000;

/** One more address of a node. A name may resolve to another node each time. */
export function parseAddresses(value: string, previous: readonly string[] = []): readonly string[] {
  if (isIP(value) === 0) throw new InvalidArgumentError('Use an IP address.');
  if (previous.includes(value)) throw new InvalidArgumentError('The address is given twice.');
  if (previous.length >= maxAddresses) throw new InvalidArgumentError(`Use at most ${maxAddresses} addresses.`);
  return [...previous, value];
}

/** The shells that `completion` knows. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** What the command `backups` does. */
export const backupsActions = ['list', 'verify', 'fetch'] as const;
export type BackupsAction = (typeof backupsActions)[number];

/** The kinds that `why` explains, by the names that users may type, as with kubectl. */
const objectKinds = {
  Cluster: ['cluster', 'clusters'],
  Machine: ['machine', 'machines', 'tm'],
  Host: ['host', 'hosts', 'th'],
  AccessRequest: ['accessrequest', 'accessrequests'],
} as const;

/** An object of the platform cluster. */
export interface ObjectArgument {
  /** Absent: any that has an object of the name. */
  readonly kind?: keyof typeof objectKinds;
  readonly namespace?: string;
  readonly name: string;
}

/** `machine/NAME`, `NAME`, or `NAMESPACE/NAME` as `status` prints it. The name becomes a part of a selector. */
export function parseObject(value: string): ObjectArgument {
  const [, given, name = ''] = /^(?:([^/]*)\/)?([^/]*)$/.exec(value) ?? [];
  if (!/^[a-z0-9][-a-z0-9.]{0,252}$/.test(name)) throw new InvalidArgumentError('Use KIND/NAME or NAME.');
  if (given === undefined) return { name };
  const kinds = Object.keys(objectKinds) as (keyof typeof objectKinds)[];
  const kind = kinds.find((one) => (objectKinds[one] as readonly string[]).includes(given.toLowerCase()));
  if (kind) return { kind, name };
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(given)) return { namespace: given, name };
  throw new InvalidArgumentError(`Use one of ${kinds.join(', ')} as the kind, or a namespace.`);
}

/** The URL of a server over HTTP or HTTPS; undefined: none. */
export function parseHttpUrl(value: string): string | undefined {
  if (value === '' || value === '0') return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '')
    throw new InvalidArgumentError('Use the URL of a server, e.g. http://collector:4318.');
  return url.href.replace(/\/$/, '');
}
