import { createHash } from 'node:crypto';
import type { ApiMethod } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import { type NasState, toExtendedJsonDate } from '../nas-state.ts';
import { computeSpace, usableBytes } from '../storage/dataset-files.ts';

/** `alert.list`: pools that are unhealthy or fill up, and revoked keys. */
export const alertMethods: readonly ApiMethod[] = [
  { name: 'alert.list', parameters: [], access: ['ALERT_LIST_READ'], run: (_, { nas }) => listAlerts(nas) },
];

interface Alert {
  readonly klass: string;
  readonly source: string;
  readonly level: 'NOTICE' | 'WARNING' | 'CRITICAL';
  readonly args: Entry;
  readonly text: string;
}

/** The minimum percentage, and its alert level. */
const usageThresholds = [
  { percent: 95, klass: 'ZpoolCapacityCritical', level: 'CRITICAL' },
  { percent: 90, klass: 'ZpoolCapacityWarning', level: 'WARNING' },
  { percent: 85, klass: 'ZpoolCapacityNotice', level: 'NOTICE' },
] as const;
const severity = ['CRITICAL', 'WARNING', 'NOTICE'];

async function listAlerts(nas: NasState): Promise<Entry[]> {
  const alerts = [...poolStatusAlerts(nas), ...(await poolUsageAlerts(nas)), ...revokedKeyAlerts(nas)];
  return alerts
    .sort((a, b) => severity.indexOf(a.level) - severity.indexOf(b.level))
    .map((alert) => describe(nas, alert));
}

function poolStatusAlerts(nas: NasState): Alert[] {
  return [...nas.pools.values()]
    .filter(({ status }) => status !== 'ONLINE')
    .map(({ name, status }) => ({
      klass: 'VolumeStatus',
      source: 'VolumeStatus',
      level: 'CRITICAL',
      args: { volume: name, state: status, status: 'One or more devices are not available.', devices: '' },
      text: `Pool ${name} state is ${status}: One or more devices are not available.`,
    }));
}

async function poolUsageAlerts(nas: NasState): Promise<Alert[]> {
  const space = computeSpace(nas);
  return [...nas.pools.values()].flatMap((pool) => {
    const used = (space.get(pool.name)?.used ?? 0) + pool.ballastBytes;
    const capacity = Math.floor((used * 100) / usableBytes(pool.sizeBytes));
    const found = usageThresholds.find(({ percent }) => capacity >= percent);
    if (!found) return [];
    const { klass, level } = found;
    const text = `Space usage for pool '${pool.name}' is ${capacity}%.`;
    return [{ klass, source: 'ZpoolCapacity', level, args: { volume: pool.name, capacity }, text }];
  });
}

function revokedKeyAlerts(nas: NasState): Alert[] {
  return nas.keys
    .filter(({ revokedReason }) => revokedReason !== null)
    .map(({ id, revokedReason }) => ({
      klass: 'ApiKeyRevoked',
      source: '',
      level: 'WARNING',
      args: { name: `key ${id}`, reason: revokedReason },
      text:
        `key ${id}: API key has been revoked and must either be renewed or deleted. Revoke reason: ${revokedReason}. ` +
        'Once the maintenance is complete, API client configuration must be updated to use the renewed API key.',
    }));
}

function describe(nas: NasState, { klass, source, level, args, text }: Alert): Entry {
  const key = JSON.stringify(args);
  const hash = createHash('sha256').update(`${klass} ${key}`).digest('hex');
  const uuid = [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join(
    '-',
  );
  return {
    uuid,
    source,
    klass,
    args,
    node: 'Controller A',
    key,
    datetime: toExtendedJsonDate(nas.bootedAt),
    last_occurrence: toExtendedJsonDate(new Date()),
    dismissed: false,
    mail: null,
    text,
    id: uuid,
    level,
    formatted: text,
    one_shot: klass === 'ApiKeyRevoked',
  };
}
