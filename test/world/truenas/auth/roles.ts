import { PythonException } from '../middleware/errors.ts';
import type { TrueNasRelease } from '../versions.ts';

/** The subjects of roles; `X` stands for the roles X_READ and X_WRITE, which includes X_READ (middleware: role.py). */
const readWriteRoles = [
  ...['ACCOUNT', 'ALERT_LIST', 'API_KEY', 'AUTH_SESSIONS', 'BOOT_ENV', 'CERTIFICATE', 'CLOUD_BACKUP', 'CLOUD_SYNC'],
  ...['DATASET', 'DIRECTORY_SERVICE', 'DISK', 'DOCKER', 'ENCLOSURE', 'FAILOVER', 'FILESYSTEM_ATTRS', 'FILESYSTEM_DATA'],
  ...['IPMI', 'JBOF', 'KEYCHAIN_CREDENTIAL', 'KMIP', 'NETWORK_GENERAL', 'NETWORK_INTERFACE', 'POOL_SCRUB', 'PRIVILEGE'],
  ...['REPLICATION_TASK', 'REPLICATION_TASK_CONFIG', 'REPORTING', 'SHARING_FTP', 'SHARING_NFS', 'SHARING_NVME_TARGET'],
  ...['SHARING_SMB', 'SNAPSHOT', 'SNAPSHOT_TASK', 'SSH', 'SUPPORT', 'SYSTEM_ADVANCED', 'SYSTEM_CRON', 'SYSTEM_GENERAL'],
  ...['SYSTEM_PRODUCT', 'SYSTEM_SECURITY', 'SYSTEM_TUNABLE', 'SYSTEM_UPDATE', 'TRUECOMMAND', 'TRUENAS_CONNECT', 'VM'],
];
const compositeRoles: Readonly<Record<string, readonly string[]>> = {
  ALERT_READ: ['ALERT_LIST_READ'],
  ALERT_WRITE: ['ALERT_LIST_WRITE', 'ALERT_READ'],
  DATASET_DELETE: [],
  FILESYSTEM_FULL_CONTROL: ['FILESYSTEM_ATTRS_WRITE', 'FILESYSTEM_DATA_WRITE'],
  MAIL_WRITE: [],
  POOL_READ: ['POOL_SCRUB_READ'],
  POOL_WRITE: ['POOL_READ', 'POOL_SCRUB_WRITE'],
  REPLICATION_ADMIN: [
    'KEYCHAIN_CREDENTIAL_WRITE',
    'REPLICATION_TASK_CONFIG_WRITE',
    'REPLICATION_TASK_WRITE',
    'SNAPSHOT_TASK_WRITE',
    'SNAPSHOT_WRITE',
  ],
  REPLICATION_TASK_WRITE_PULL: ['REPLICATION_TASK_WRITE'],
  SERVICE_READ: [],
  SERVICE_WRITE: [],
  SHARING_READ: ['SHARING_FTP_READ', 'SHARING_NFS_READ', 'SHARING_NVME_TARGET_READ', 'SHARING_SMB_READ'],
  SHARING_WRITE: ['SHARING_FTP_WRITE', 'SHARING_NFS_WRITE', 'SHARING_NVME_TARGET_WRITE', 'SHARING_SMB_WRITE'],
  SHARING_ADMIN: ['READONLY_ADMIN', 'DATASET_WRITE', 'SHARING_WRITE', 'FILESYSTEM_ATTRS_WRITE', 'SERVICE_READ'],
  SNAPSHOT_DELETE: [],
  SYSTEM_AUDIT_READ: [],
  SYSTEM_AUDIT_WRITE: [],
  VM_DEVICE_READ: ['VM_READ'],
  VM_DEVICE_WRITE: ['VM_WRITE', 'VM_DEVICE_READ'],
  ZFS_RESOURCE_READ: [],
};

/** Every role of a release, and the roles that it includes. */
export function rolesOfRelease(version: TrueNasRelease): ReadonlyMap<string, readonly string[]> {
  const known = cache.get(version);
  if (known) return known;
  const roles = new Map<string, readonly string[]>(Object.entries(compositeRoles));
  for (const name of readWriteRoles) roles.set(`${name}_READ`, []).set(`${name}_WRITE`, [`${name}_READ`]);
  // A bug of the real middleware: a user with one of these roles cannot log in.
  for (const name of version.endlessRoles) roles.set(name, [name]);
  roles.set(
    'READONLY_ADMIN',
    [...roles.keys()].filter((name) => name.endsWith('_READ')),
  );
  roles.set('FULL_ADMIN', [...roles.keys(), 'FULL_ADMIN']);
  cache.set(version, roles);
  return roles;
}

const cache = new Map<TrueNasRelease, ReadonlyMap<string, readonly string[]>>();

/** The given roles and all that they include; unknown names are ignored. */
export function expandRoles(version: TrueNasRelease, given: readonly string[]): ReadonlySet<string> {
  const roles = rolesOfRelease(version);
  if (given.includes('FULL_ADMIN')) return new Set(roles.get('FULL_ADMIN'));
  const result = new Set<string>();
  const add = (role: string): void => {
    const inner = roles.get(role);
    if (inner?.includes(role)) throw new PythonException('RecursionError', 'maximum recursion depth exceeded');
    if (!inner || result.has(role)) return;
    result.add(role);
    inner.forEach(add);
  };
  given.forEach(add);
  return result;
}

/** Whether these roles allow a call that needs one of `wanted`. */
export function hasAnyRole(roles: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return roles.has('FULL_ADMIN') || wanted.some((role) => roles.has(role));
}
