import type { Machine } from '../../../api/machine.ts';
import type { Log } from '../../../lib/log.ts';
import type { Services } from '../../shared/services.ts';
import type { MachineMonitor } from '../machine-monitor.ts';
import type { NodeClients } from './node-clients.ts';

export interface MachineReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly monitor: MachineMonitor;
}

/** One reconcile of one Machine. The object is updated by every write of this reconcile. */
export interface MachineTask {
  readonly services: Services;
  readonly machine: Machine;
  readonly context: MachineReconcileContext;
  /** Closed at the end of the reconcile. */
  readonly nodes: NodeClients;
}
