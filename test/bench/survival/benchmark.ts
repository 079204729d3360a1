import { missingPeers } from '../../peers/find-peer.ts';
import type { Benchmark } from '../measurement.ts';
import { measureBackup } from './backup-cost.ts';
import { measureSuccessor } from './successor-time.ts';

/** What backups cost, and how long a dead node is missed. `SURVIVAL_PARTS=backup,successor` runs some of it. */
const parts = (process.env['SURVIVAL_PARTS'] ?? 'backup,successor').split(',');

export const survivalBenchmark: Benchmark = {
  name: 'Backups and dead nodes',
  missing: missingPeers('age', 'versitygw'),
  async measure(say) {
    return [
      ...(parts.includes('successor') ? await measureSuccessor(say) : []),
      ...(parts.includes('backup') ? await measureBackup(say) : []),
    ];
  },
};
