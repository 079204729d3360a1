import type { ServiceImpl } from '@connectrpc/connect';
import { type MachineService, UpgradeRequest_RebootMode as RebootMode } from '../../../../src/talos/gen/machine_pb.ts';
import { switchSlots } from '../boot/system-slots.ts';
import { upgradeRejection } from '../kubernetes/etcd.ts';
import { pullInstaller } from '../lifecycle/run-installer.ts';
import { startReboot } from '../lifecycle/sequences.ts';
import { startStagedUpgrade, startUpgrade } from '../lifecycle/upgrade-sequences.ts';
import type { TalosNode } from '../node.ts';
import { failedPreconditionError, unknownError } from './errors.ts';

/** The upgrade of all versions of Talos, deprecated since 1.13, and its counterpart (talos: v1alpha1_server.go). */
export function upgradeMethods(node: TalosNode): Pick<ServiceImpl<typeof MachineService>, 'upgrade' | 'rollback'> {
  return {
    async upgrade(request, { signal }) {
      const { image, stage, force, preserve } = request;
      if (node.systemDisk === undefined) throw failedPreconditionError('Talos is not installed');
      const system = await pullInstaller(node, image, signal).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        throw unknownError(`error validating installer image "${image}": ${reason}`);
      });
      const rejection = node.isControlPlane && !force && !preserve ? upgradeRejection(node) : undefined;
      if (rejection !== undefined) throw unknownError(rejection);
      const powercycle = request.rebootMode === RebootMode.POWERCYCLE;
      const actorId = stage
        ? startStagedUpgrade(node, image, { powercycle })
        : startUpgrade(node, system, { powercycle });
      return { messages: [{ ack: 'Upgrade request received', actorId }] };
    },
    rollback() {
      if (node.systemDisk === undefined) throw failedPreconditionError('system disk not found');
      try {
        switchSlots(node);
      } catch (error) {
        throw unknownError(error instanceof Error ? error.message : String(error));
      }
      startReboot(node, { takesOver: true });
      return { messages: [{}] };
    },
  };
}
