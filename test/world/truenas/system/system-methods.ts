import { type ApiMethod, plainMethod } from '../middleware/method.ts';
import { toExtendedJsonDate } from '../nas-state.ts';

/** `system.*`. */
export const systemMethods: readonly ApiMethod[] = [
  plainMethod('system.info', [], ['READONLY_ADMIN'], (_, { nas }) => ({
    version: nas.version.release,
    hostname: nas.hostname,
    physmem: nas.memoryMiB * 1024 * 1024,
    cores: nas.cores,
    uptime_seconds: (Date.now() - nas.bootedAt.getTime()) / 1000,
    license: null,
    boottime: toExtendedJsonDate(nas.bootedAt),
    datetime: toExtendedJsonDate(new Date()),
    timezone: 'UTC',
  })),
  plainMethod('system.version_short', [], 'user', (_, { nas }) => nas.version.release),
  plainMethod('system.state', [], ['SYSTEM_GENERAL_READ'], (_, { nas }) => nas.state),
];
