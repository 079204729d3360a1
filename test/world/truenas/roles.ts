/** Roles that bring others with them (middleware: role.py). */
const includes: Readonly<Record<string, readonly string[]>> = {
  DATASET_WRITE: ['DATASET_READ'],
  DISK_WRITE: ['DISK_READ'],
  FILESYSTEM_ATTRS_WRITE: ['FILESYSTEM_ATTRS_READ'],
  FILESYSTEM_DATA_WRITE: ['FILESYSTEM_DATA_READ'],
  FILESYSTEM_FULL_CONTROL: ['FILESYSTEM_ATTRS_WRITE', 'FILESYSTEM_DATA_WRITE'],
  NETWORK_INTERFACE_WRITE: ['NETWORK_INTERFACE_READ'],
  POOL_READ: ['POOL_SCRUB_READ'],
  POOL_WRITE: ['POOL_READ'],
  SYSTEM_GENERAL_WRITE: ['SYSTEM_GENERAL_READ'],
  VM_WRITE: ['VM_READ'],
  VM_DEVICE_READ: ['VM_READ'],
  VM_DEVICE_WRITE: ['VM_WRITE', 'VM_DEVICE_READ'],
  READONLY_ADMIN: [
    'DATASET_READ',
    'DISK_READ',
    'FILESYSTEM_ATTRS_READ',
    'NETWORK_INTERFACE_READ',
    'POOL_READ',
    'SYSTEM_GENERAL_READ',
    'VM_READ',
    'VM_DEVICE_READ',
    'ZFS_RESOURCE_READ',
  ],
  SHARING_ADMIN: ['READONLY_ADMIN', 'DATASET_WRITE', 'FILESYSTEM_ATTRS_WRITE'],
};

/** The roles given and all that they include. */
export function expandRoles(given: readonly string[]): ReadonlySet<string> {
  const result = new Set<string>();
  const add = (role: string): void => {
    if (result.has(role)) return;
    result.add(role);
    for (const inner of includes[role] ?? []) add(inner);
  };
  given.forEach(add);
  return result;
}

/** Whether somebody with these roles may call what asks for one of `wanted`. */
export function mayCall(roles: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return roles.has('FULL_ADMIN') || wanted.some((role) => roles.has(role));
}
