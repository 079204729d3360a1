import type { ApiMethod } from '../middleware/method.ts';
import { toExtendedJsonDate } from '../nas-state.ts';

/** `system.*`. */
export const systemMethods: readonly ApiMethod[] = [
  {
    name: 'system.info',
    parameters: [],
    access: ['READONLY_ADMIN'],
    run: (_, { nas }) => ({
      version: nas.version.release,
      hostname: nas.hostname,
      physmem: nas.memoryMiB * 1024 * 1024,
      cores: nas.cores,
      uptime_seconds: (Date.now() - nas.bootedAt.getTime()) / 1000,
      license: null,
      boottime: toExtendedJsonDate(nas.bootedAt),
      datetime: toExtendedJsonDate(new Date()),
      timezone: 'UTC',
    }),
  },
  { name: 'system.version_short', parameters: [], access: 'user', run: (_, { nas }) => nas.version.release },
  { name: 'system.state', parameters: [], access: ['SYSTEM_GENERAL_READ'], run: (_, { nas }) => nas.state },
];
