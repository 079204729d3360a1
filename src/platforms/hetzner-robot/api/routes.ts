/** The kinds of values in a path or form. `permitRequest` checks each value. */
export type ValueKind =
  /** Number of a server with a Host object. */
  | 'server'
  /** Main address, or main IPv6 network, of such a server. */
  | 'address'
  /** A failover address that the configuration names. */
  | 'failover'
  /** Fingerprint of an SSH key. */
  | 'fingerprint'
  /** Number of a vSwitch. */
  | 'id'
  /** A VLAN that a vSwitch may have. */
  | 'vlan'
  /** A reset type without a technician: this provider never requests one. */
  | 'reset-type'
  /** The operating system of rescue: only Linux. */
  | 'system'
  /** Free text, and key material. */
  | 'text';

/**
 * Calls per hour of the account, by method and first segment of the path (Robot webservice documentation). The list of
 * servers and single servers share the same 200.
 */
export const hourlyLimits = {
  'GET /server': 200,
  'POST /server': 200,
  'GET /boot': 500,
  'POST /boot': 500,
  'DELETE /boot': 500,
  'GET /reset': 500,
  'POST /reset': 50,
  'GET /key': 500,
  'POST /key': 200,
  'GET /ip': 5000,
  'GET /vswitch': 500,
  'POST /vswitch': 100,
  'DELETE /vswitch': 100,
  'GET /failover': 100,
  'POST /failover': 50,
} as const;

/** Calls that share a limit. */
export type BudgetName = keyof typeof hourlyLimits;

/** One call of the webservice. */
export interface RobotRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `{…}` holds a value; see {@link placeholderKinds}. */
  readonly path: string;
  readonly budget: BudgetName;
  readonly form?: Readonly<Record<string, ValueKind>>;
  /** Robot answers when the work is done, which takes a minute. */
  readonly isSlow?: true;
}

/** The kinds of the values in `{…}`. */
export const placeholderKinds: Readonly<Record<string, ValueKind>> = {
  '{n}': 'server',
  '{ip}': 'address',
  '{failover}': 'failover',
  '{fingerprint}': 'fingerprint',
  '{id}': 'id',
};

/**
 * Every call that this provider makes. Nothing else can be sent: no order, no cancellation or its reversal, no
 * installation of an operating system by Robot, no reset by a technician.
 */
export const routes: readonly RobotRoute[] = [
  // The one exception: it names no server and lists all. For users who write Host objects, and to read many servers at
  // once.
  { method: 'GET', path: '/server', budget: 'GET /server' },
  { method: 'GET', path: '/server/{n}', budget: 'GET /server' },
  { method: 'POST', path: '/server/{n}', budget: 'POST /server', form: { server_name: 'text' } },
  { method: 'GET', path: '/boot/{n}', budget: 'GET /boot' },
  { method: 'GET', path: '/boot/{n}/rescue', budget: 'GET /boot' },
  {
    method: 'POST',
    path: '/boot/{n}/rescue',
    budget: 'POST /boot',
    form: { os: 'system', authorized_key: 'fingerprint' },
  },
  { method: 'DELETE', path: '/boot/{n}/rescue', budget: 'DELETE /boot' },
  { method: 'GET', path: '/reset/{n}', budget: 'GET /reset' },
  { method: 'POST', path: '/reset/{n}', budget: 'POST /reset', form: { type: 'reset-type' } },
  { method: 'POST', path: '/key', budget: 'POST /key', form: { name: 'text', data: 'text' } },
  { method: 'GET', path: '/key/{fingerprint}', budget: 'GET /key' },
  { method: 'GET', path: '/ip/{ip}', budget: 'GET /ip' },
  { method: 'GET', path: '/vswitch', budget: 'GET /vswitch' },
  { method: 'POST', path: '/vswitch', budget: 'POST /vswitch', form: { name: 'text', vlan: 'vlan' } },
  { method: 'GET', path: '/vswitch/{id}', budget: 'GET /vswitch' },
  { method: 'POST', path: '/vswitch/{id}/server', budget: 'POST /vswitch', form: { server: 'server' } },
  { method: 'DELETE', path: '/vswitch/{id}/server', budget: 'DELETE /vswitch', form: { server: 'server' } },
  { method: 'GET', path: '/failover/{failover}', budget: 'GET /failover' },
  {
    method: 'POST',
    path: '/failover/{failover}',
    budget: 'POST /failover',
    form: { active_server_ip: 'address' },
    isSlow: true,
  },
];
