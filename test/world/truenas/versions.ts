/**
 * All differences between the supported releases. A new release is one more entry here; no other file checks the
 * version. Sources: the tags of truenas/middleware, `api/`, `plugins/vm`, `utils/libvirt`.
 */
export interface TrueNasRelease {
  /** The value of `--version`. */
  readonly line: string;
  /** The version that `system.info` answers. */
  readonly release: string;
  /** `/api/<name>` endpoints beside `current`, oldest first; also the answer of `/api/versions`. */
  readonly endpoints: readonly string[];
  /** `vm.*` is missing in 25.04.0 and 25.04.1, and back since 25.04.2. */
  readonly hasVms: boolean;
  /** `core.set_options` supports `legacy_jobs` and answers the options in force; before 25.10 it answers null. */
  readonly hasJobOptions: boolean;
  readonly hasBootIdEndpoint: boolean;
  /**
   * SCRAM besides the plain logins, the answer DENIED, `reconnect_token`; a revoked key is a wrong one, not an expired
   * one.
   */
  readonly hasScram: boolean;
  /** Roles that include themselves, so that their users cannot log in. */
  readonly endlessRoles: readonly string[];
  /** How many `file` parts one `/_upload` may have. */
  readonly uploadFiles: number;
  /** Calls in flight are cancelled when their connection closes (26); before, they complete. */
  readonly cancelsOnClose: boolean;
  /** Seconds of silence after which the web server drops a connection. */
  readonly idleSeconds: number;
  readonly traceHasFrames: boolean;
  /** `vm.device.nic_attach_choices`: a flat map, or names by kind (26, also through older endpoints). */
  readonly nicChoicesByKind: boolean;
  /** A NIC without a MAC gets one at creation that stays (26), or another one at each start (25). */
  readonly storesMac: boolean;
  /** `pool.dataset.create` ignores `user_properties` (26.0.0-BETA.3). */
  readonly dropsUserProperties: boolean;
  /** `pool.dataset.delete` always answers true, also after a failure, and has no `force` (26.0.0-BETA.3). */
  readonly deleteAlwaysTrue: boolean;
  /** The file of a CDROM must not lie in a pool's root dataset (since 25.10.1). */
  readonly cdromNeedsChildDataset: boolean;
  /** The path pattern of a CDROM. */
  readonly cdromPathPattern: string;
  readonly suspendOnSnapshotDefault: boolean;
  /** `vm.device.update` refuses another `dtype`. */
  readonly keepsDeviceType: boolean;
  readonly defaultFirmware: string;
  readonly displayTypes: readonly string[];
  /** Events of machines and devices that a call caused carry the entry; in 25.04 they carry only its number. */
  readonly eventsBringEntries: boolean;
  /**
   * A libvirt event of a machine is sent as a change with its whole entry (26), or in libvirt's own words without
   * devices. With 26 a machine is not a libvirt domain before its first start.
   */
  readonly plainDomainEvents: boolean;
  /** `vm.delete` answers null and destroys zvols while the machine still runs (26.0.0-BETA.3). */
  readonly deletesZvolsFirst: boolean;
}

const fangtoothEndpoints = ['v25.04.0', 'v25.04.1', 'v25.04.2'];

const modern: TrueNasRelease = {
  line: '25.10',
  release: '25.10.6',
  endpoints: [...fangtoothEndpoints, ...['0', '1', '2', '3', '4', '5'].map((patch) => `v25.10.${patch}`)],
  hasVms: true,
  hasJobOptions: true,
  hasBootIdEndpoint: true,
  hasScram: false,
  endlessRoles: ['PRIVILEGE_WRITE', 'SYSTEM_PRODUCT_WRITE'],
  uploadFiles: 5,
  cancelsOnClose: false,
  idleSeconds: 60,
  traceHasFrames: true,
  nicChoicesByKind: false,
  storesMac: false,
  dropsUserProperties: false,
  deleteAlwaysTrue: false,
  cdromNeedsChildDataset: true,
  cdromPathPattern: '^[^{}]*$',
  suspendOnSnapshotDefault: false,
  keepsDeviceType: false,
  defaultFirmware: 'OVMF_CODE_4M.fd',
  displayTypes: ['SPICE', 'VNC'],
  eventsBringEntries: true,
  plainDomainEvents: false,
  deletesZvolsFirst: false,
};

const fangtooth: TrueNasRelease = {
  ...modern,
  line: '25.04.2',
  release: '25.04.2.6',
  endpoints: fangtoothEndpoints,
  hasJobOptions: false,
  hasBootIdEndpoint: false,
  uploadFiles: 1,
  cdromNeedsChildDataset: false,
  cdromPathPattern: '^/mnt/[^{}]*$',
  defaultFirmware: 'OVMF_CODE.fd',
  displayTypes: ['SPICE'],
  eventsBringEntries: false,
};

/** The supported releases, oldest first. */
export const simulatedReleases: readonly TrueNasRelease[] = [
  {
    ...fangtooth,
    line: '25.04.1',
    release: '25.04.1',
    endpoints: ['v25.04.0', 'v25.04.1'],
    hasVms: false,
  },
  fangtooth,
  modern,
  {
    ...modern,
    line: '26',
    release: '26.0.0-BETA.3',
    endpoints: [...fangtoothEndpoints, ...['0', '1', '2', '3', '4'].map((patch) => `v25.10.${patch}`), 'v26.0.0'],
    hasScram: true,
    endlessRoles: ['SYSTEM_PRODUCT_WRITE'],
    cancelsOnClose: true,
    idleSeconds: 3600,
    traceHasFrames: false,
    nicChoicesByKind: true,
    storesMac: true,
    dropsUserProperties: true,
    deleteAlwaysTrue: true,
    suspendOnSnapshotDefault: true,
    keepsDeviceType: true,
    plainDomainEvents: true,
    deletesZvolsFirst: true,
  },
];

/** The release for `--version`, 25.10 by default. Throws a RangeError that lists the supported ones. */
export function findRelease(line = '25.10'): TrueNasRelease {
  const found = simulatedReleases.find((version) => version.line === line);
  if (found) return found;
  throw new RangeError(
    `no TrueNAS ${line} here; there is ${simulatedReleases.map((version) => version.line).join(', ')}`,
  );
}

/** Whether a method exists at an endpoint: a pinned endpoint has only the methods of its release. */
export function offersMethod(version: TrueNasRelease, endpoint: string, method: string): boolean {
  const at = endpoint === 'current' ? version.line : endpoint.slice(1);
  const isBefore = (release: string) => at.localeCompare(release, undefined, { numeric: true }) < 0;
  return !(method.startsWith('vm.') && (!version.hasVms || isBefore('25.04.2')));
}
