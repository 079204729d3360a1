import { missingPeers } from '../../peers/find-peer.ts';
import type { Benchmark } from '../measurement.ts';
import { measureBackup } from './backup-cost.ts';

export const backupBenchmark: Benchmark = {
  name: 'Backups',
  missing: missingPeers('age', 'versitygw', 'talos-snapshot'),
  measure: measureBackup,
};
