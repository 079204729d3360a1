import type { ChaosEvent } from '../event.ts';
import { accessRenewed, accessRequested } from './access.ts';
import { authorityRotated } from './authorities.ts';
import { apiServerPartition, nasPartition, nodePartition, platformPartition, robotMaintenance } from './network.ts';
import { platformRestart, platformRestored } from './platform.ts';
import { machinePowerCut, middlewareRestart, nasPowerCut, nasReboot, serverPowerCut } from './power.ts';
import { clockJump, providerKill, providerRestart, providerUpdate } from './provider.ts';
import { deadDisk, deadServer, nodeHang } from './remediation.ts';
import { controlPlaneDeleted, poolScaled, remediated, workerDeleted } from './scaling.ts';
import { keyExpired, nasRestored, nasRestoredOlder, poolFull } from './storage.ts';
import { kubernetesUpgrade, labelChanged, patchChanged, talosUpgrade } from './templates.ts';

/** Everything that may happen to a fleet. */
export const events: readonly ChaosEvent[] = [
  ...[machinePowerCut, nasPowerCut, nasReboot, middlewareRestart, serverPowerCut],
  ...[nasPartition, nodePartition, apiServerPartition, platformPartition, robotMaintenance],
  ...[nodeHang, remediated, deadServer, deadDisk, poolFull, keyExpired, nasRestored, nasRestoredOlder],
  ...[talosUpgrade, kubernetesUpgrade, labelChanged, patchChanged, authorityRotated],
  ...[poolScaled, workerDeleted, controlPlaneDeleted],
  ...[providerRestart, providerKill, providerUpdate, clockJump, platformRestart, platformRestored],
  ...[accessRequested, accessRenewed],
];
