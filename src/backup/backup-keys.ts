/** Whose backup it is. A Cluster that was deleted and created again has another UID, and so backups of its own. */
export interface BackupOwner {
  /** UID of the namespace `kube-system` of the platform cluster. */
  readonly installation: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The objects of one backup. The manifest is written last: without it a backup is not complete. */
export const backupParts = {
  etcd: 'etcd.age',
  secrets: 'secrets.age',
  objects: 'objects.age',
  manifest: 'json',
} as const;
export type BackupPart = keyof typeof backupParts;

/** A key of ours. */
export interface ParsedKey {
  readonly owner: BackupOwner;
  /** To the second, e.g. `20261126T023000Z`. The order of keys is that of times. */
  readonly time: string;
  readonly part: BackupPart;
}

/** The beginning of the keys of all clusters. `prefix` is that of `spec.backup.s3`. */
export const keyRoot = (prefix: string): string => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`);

/** The beginning of the keys of one cluster. */
export const ownerPrefix = (prefix: string, { installation, namespace, name, uid }: BackupOwner): string =>
  `${keyRoot(prefix)}${installation}/${namespace}/${name}/${uid}/`;

export const backupKey = (prefix: string, owner: BackupOwner, time: string, part: BackupPart): string =>
  `${ownerPrefix(prefix, owner)}${time}.${backupParts[part]}`;

export const formatBackupTime = (time: Date): string => time.toISOString().replace(/[-:]|\.\d+/g, '');

/** Undefined for text that is no time of a backup. */
export function parseBackupTime(text: string): Date | undefined {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

const namePattern = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** Undefined for a key that is not exactly of our form: nothing is ever done to such an object. */
export function parseBackupKey(prefix: string, key: string): ParsedKey | undefined {
  const root = keyRoot(prefix);
  if (!key.startsWith(root)) return undefined;
  const segments = key.slice(root.length).split('/');
  const [installation = '', namespace = '', name = '', uid = '', file = ''] = segments;
  if (segments.length !== 5 || ![installation, namespace, name, uid].every((one) => namePattern.test(one)))
    return undefined;
  const [, time = '', ending] = /^([0-9TZ]{16})\.(.+)$/.exec(file) ?? [];
  const part = (Object.keys(backupParts) as BackupPart[]).find((one) => backupParts[one] === ending);
  if (part === undefined || !parseBackupTime(time)) return undefined;
  return { owner: { installation, namespace, name, uid }, time, part };
}
