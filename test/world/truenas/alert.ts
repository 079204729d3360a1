import { createHash } from 'node:crypto';
import type { Method } from './method.ts';
import { type Nas, wireDate } from './nas.ts';
import type { Entry } from './query.ts';
import { reckonSpace, usableBytes } from './storage.ts';

/** `alert.list`: pools that are not well or fill up, and keys that were revoked. */
export const alertMethods: readonly Method[] = [
  { name: 'alert.list', parameters: [], access: ['ALERT_LIST_READ'], run: (_, { nas }) => listAlerts(nas) },
];

interface Alert {
  readonly klass: string;
  readonly source: string;
  readonly level: 'NOTICE' | 'WARNING' | 'CRITICAL';
  readonly args: Entry;
  readonly text: string;
}

/** From so many hundredths on, and what it is then. */
const fillings = [
  { percent: 95, klass: 'ZpoolCapacityCritical', level: 'CRITICAL' },
  { percent: 90, klass: 'ZpoolCapacityWarning', level: 'WARNING' },
  { percent: 85, klass: 'ZpoolCapacityNotice', level: 'NOTICE' },
] as const;
const severity = ['CRITICAL', 'WARNING', 'NOTICE'];

async function listAlerts(nas: Nas): Promise<Entry[]> {
  const alerts = [...poolStates(nas), ...(await poolFillings(nas)), ...revokedKeys(nas)];
  return alerts
    .sort((a, b) => severity.indexOf(a.level) - severity.indexOf(b.level))
    .map((alert) => describe(nas, alert));
}

function poolStates(nas: Nas): Alert[] {
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

async function poolFillings(nas: Nas): Promise<Alert[]> {
  const space = reckonSpace(nas);
  return [...nas.pools.values()].flatMap((pool) => {
    const used = (space.get(pool.name)?.used ?? 0) + pool.ballastBytes;
    const capacity = Math.floor((used * 100) / usableBytes(pool.sizeBytes));
    const found = fillings.find(({ percent }) => capacity >= percent);
    if (!found) return [];
    const { klass, level } = found;
    const text = `Space usage for pool '${pool.name}' is ${capacity}%.`;
    return [{ klass, source: 'ZpoolCapacity', level, args: { volume: pool.name, capacity }, text }];
  });
}

function revokedKeys(nas: Nas): Alert[] {
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

function describe(nas: Nas, { klass, source, level, args, text }: Alert): Entry {
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
    datetime: wireDate(nas.bootedAt),
    last_occurrence: wireDate(new Date()),
    dismissed: false,
    mail: null,
    text,
    id: uuid,
    level,
    formatted: text,
    one_shot: klass === 'ApiKeyRevoked',
  };
}
