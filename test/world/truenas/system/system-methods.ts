import { cpus } from 'node:os';
import type { ApiMethod } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import { type NasState, toExtendedJsonDate } from '../nas-state.ts';

/** `system.*`. */
export const systemMethods: readonly ApiMethod[] = [
  { name: 'system.info', parameters: [], access: ['READONLY_ADMIN'], run: (_, { nas }) => describeSystem(nas) },
  { name: 'system.version', parameters: [], access: 'user', run: (_, { nas }) => `TrueNAS-${nas.version.release}` },
  { name: 'system.version_short', parameters: [], access: 'user', run: (_, { nas }) => nas.version.release },
  { name: 'system.product_type', parameters: [], access: 'user', run: () => 'COMMUNITY_EDITION' },
  { name: 'system.host_id', parameters: [], access: 'user', run: (_, { nas }) => nas.hostname },
  { name: 'system.ready', parameters: [], access: ['SYSTEM_GENERAL_READ'], run: (_, { nas }) => nas.state === 'READY' },
  { name: 'system.state', parameters: [], access: ['SYSTEM_GENERAL_READ'], run: (_, { nas }) => nas.state },
  { name: 'system.boot_id', parameters: [], access: 'anyone', run: (_, { nas }) => nas.bootId },
];

function describeSystem(nas: NasState): Entry {
  const seconds = (Date.now() - nas.bootedAt.getTime()) / 1000;
  const clock = new Date(seconds * 1000).toISOString().slice(11, 19);
  return {
    version: nas.version.release,
    buildtime: { $date: 1785801600000 },
    hostname: nas.hostname,
    physmem: nas.memoryMiB * 1024 * 1024,
    model: cpus()[0]?.model ?? 'QEMU Virtual CPU',
    cores: nas.cores,
    physical_cores: Math.ceil(nas.cores / 2),
    loadavg: [0.1, 0.1, 0.1],
    uptime: seconds >= 86400 ? `${Math.floor(seconds / 86400)} days, ${clock}` : clock,
    uptime_seconds: seconds,
    system_serial: 'SIM0001',
    system_product: 'TrueNAS simulated',
    system_product_version: '1.0',
    license: null,
    boottime: toExtendedJsonDate(nas.bootedAt),
    datetime: toExtendedJsonDate(new Date()),
    timezone: 'UTC',
    system_manufacturer: 'Simulated',
    ecc_memory: true,
  };
}
