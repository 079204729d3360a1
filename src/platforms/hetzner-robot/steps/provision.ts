import { done, fail, type Step, type StepOutcome, wait } from '../../../engine/step.ts';
import { uuidFromNames } from '../../../lib/hash.ts';
import { diskImageUrl, ensureSchematic, findChecksum } from '../../../talos/image-factory/client.ts';
import { getClaimedHost, type RobotStepContext, robotClientFor, textFact } from '../context.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { describeDisk, diskIdentifierOf, planDisks } from '../hosts/disk-plan.ts';
import type { RobotHost } from '../hosts/robot-host.ts';
import type { BootOrderResult } from '../rescue/boot-order.ts';
import type { ImageSource, RescueJob } from '../rescue/job.ts';
import type { ServerInventory } from '../rescue/server-inventory.ts';
import { failInstallerArmed } from './arm-rescue.ts';
import { hostClaimed, lostOwnershipReason, serverIdentified, serverMarked } from './claim-server.ts';
import { configApplied, maintenanceReached } from './configure-talos.ts';
import { enterRescueSteps, type RescueTarget } from './enter-rescue.ts';
import { isRescueUnreachable, runInRescue, runInVerifiedRescue } from './run-in-rescue.ts';
import { runOrWait } from './run-or-wait.ts';
import { vswitchJoined } from './vswitch.ts';

/** The server that the machine holds. Its Host is read again: it may be in maintenance by now. */
async function claimedRescueTarget(context: RobotStepContext): Promise<RescueTarget> {
  const host = await getClaimedHost(context);
  if (host.spec.maintenance) {
    throw new HetznerRobotError(
      'HOST_IN_MAINTENANCE',
      `Host ${host.name}: the step continues when spec.maintenance is false.`,
    );
  }
  return {
    host,
    address: textFact(context, 'address'),
    macs: host.hardware?.nics.map(({ mac }) => mac) ?? [],
    servers: context.hosts.servers,
    isOurs: false,
    recordResetTypes: (resetTypes) => context.hosts.updateStatus({ platformStatus: { resetTypes } }),
  };
}

const rescueArmedStep = 'rescue-armed';
const rescueSteps = enterRescueSteps<RobotStepContext>(
  { armed: rescueArmedStep, reset: 'server-reset', entered: 'rescue-entered' },
  claimedRescueTarget,
);

/**
 * Before: rescue was verified. After: the hardware of the server is known and recorded in the Host, and the disks to
 * erase are chosen and may all be erased. Nothing was written to a disk yet.
 */
const hardwareInspected: Step<RobotStepContext> = {
  name: 'hardware-inspected',
  async run(context) {
    const { host, address } = await claimedRescueTarget(context);
    return await runInVerifiedRescue(context, address, rescueArmedStep, async (rescue) =>
      chooseDisks(context, host, await rescue.inspect()),
    );
  },
};

async function chooseDisks(context: RobotStepContext, host: RobotHost, found: ServerInventory): Promise<StepOutcome> {
  const { cpu, memoryMiB, firmware, nics, disks } = found;
  const inspectedAt = context.clock.now().toISOString();
  const kept = disks.map(({ byId: _, sectorBytes: __, ...disk }) => disk);
  await context.hosts.updateStatus({ hardware: { cpu, memoryMiB, firmware, nics, disks: kept, inspectedAt } });
  const plan = planDisks(host.spec, disks);
  if ('refused' in plan) return fail(plan.reason, `Server ${host.number}: ${plan.refused}`);
  const root = disks.find((disk) => diskIdentifierOf(disk) === diskIdentifierOf(plan.root));
  context.log.info({ server: host.number, erase: plan.erase.map(describeDisk) }, 'disks were selected');
  return done({
    rootSerial: plan.root.serial,
    rootWwn: plan.root.wwn,
    installDisk: root?.byId ?? '',
    erase: JSON.stringify(plan.erase.map(({ serial, wwn }) => ({ serial, wwn }))),
  });
}

/**
 * Before: disks were chosen. After: the Host and the Machine record that they are being written to, and the name of the
 * operation. From here on a release has to erase them. This is the last check of the server's owner.
 */
const intentRecorded: Step<RobotStepContext> = {
  name: 'intent-recorded',
  run: (context) =>
    runOrWait(async () => {
      const { host } = await claimedRescueTarget(context);
      const refused = await lostOwnershipReason(context, host);
      if (refused) return fail('OwnedByOthers', refused);
      await context.hosts.updateStatus({ state: 'Provisioned' });
      const { installation, provider, machine } = context.owner;
      return done({ operation: uuidFromNames(installation, provider, machine, textFact(context, 'rescueBootId')) });
    }),
};

/**
 * Before: the intent is recorded. After: the chosen disks are blank. Done when the job of this operation has succeeded.
 */
const disksWiped: Step<RobotStepContext> = {
  name: 'disks-wiped',
  erases: true,
  deadlineMinutes: 20,
  async run(context) {
    const { address } = await claimedRescueTarget(context);
    const disks = JSON.parse(textFact(context, 'erase')) as { serial: string; wwn: string }[];
    const operation = textFact(context, 'operation');
    return await runInVerifiedRescue(context, address, rescueArmedStep, async (rescue) =>
      toStepOutcome(await rescue.wipe(operation, disks)),
    );
  },
};

/** The image to write, its URL and the checksum that it is compared with. */
interface ChosenImage extends ImageSource {
  /** True until the checksum of this image was requested. */
  readonly isNew: boolean;
}

/**
 * The checksum is that of the configuration, or else the one that the image factory publishes. The latter is requested
 * once for each image and recorded before anything is written to the disk: another checksum would be another job.
 */
async function chooseImage(context: RobotStepContext): Promise<ChosenImage> {
  const { factoryUrl, schematic, version } = context.node.talos;
  const { compression, sha256 } = context.config.image;
  const schematicId = await ensureSchematic(factoryUrl, schematic, context);
  const url = diskImageUrl({ factoryUrl, platform: 'metal', schematicId, version }, compression);
  if (sha256) return { url, compression, sha256, isNew: false };
  const isNew = textFact(context, 'imageUrl') !== url;
  const checksum = isNew ? await findChecksum(url, context) : textFact(context, 'imageSha256') || undefined;
  return { url, compression, ...(checksum ? { sha256: checksum } : {}), isNew };
}

/**
 * Before: the disk is blank. After: the image is on it, read back and compared. Done when the job of this operation has
 * succeeded; it runs detached.
 */
const imageWritten: Step<RobotStepContext> = {
  name: 'image-written',
  erases: true,
  deadlineMinutes: 30,
  async run(context) {
    const { address } = await claimedRescueTarget(context);
    const { isNew, ...image } = await chooseImage(context);
    if (isNew) {
      const { url: imageUrl, sha256: imageSha256 = '' } = image;
      if (imageSha256 === '')
        context.log.warn(
          { image: imageUrl },
          'the image factory provides no checksum: only the structure of the image is verified',
        );
      return wait(1, 'The image is selected.', { imageUrl, imageSha256 });
    }
    const disk = { serial: textFact(context, 'rootSerial'), wwn: textFact(context, 'rootWwn') };
    const operation = textFact(context, 'operation');
    return await runInVerifiedRescue(context, address, rescueArmedStep, async (rescue) =>
      toStepOutcome(await rescue.write(operation, disk, image)),
    );
  },
};

export function toStepOutcome(job: RescueJob): StepOutcome {
  switch (job.kind) {
    case 'done':
      return done(job.facts);
    case 'running':
      return wait(5, job.percent === undefined ? job.description : `${job.description} ${job.percent} %.`);
    case 'failed':
      throw new HetznerRobotError(job.code, job.message);
  }
}

/**
 * Before: the image is written. After: the firmware tries the network first and has no entries of former systems. Done
 * when the boot order confirms it.
 */
const bootOrderKept: Step<RobotStepContext> = {
  name: 'boot-order-kept',
  async run(context) {
    const { address } = await claimedRescueTarget(context);
    return await runInVerifiedRescue(context, address, rescueArmedStep, async (rescue) =>
      recordBootOrder(context, await rescue.bootOrder()),
    );
  },
};

function recordBootOrder({ log }: RobotStepContext, result: BootOrderResult): StepOutcome {
  if (result.firmware === 'bios') return done({ bootOrder: 'kept by its BIOS' });
  const { order, removed, networkFirst } = result;
  if (!networkFirst)
    log.warn({ order }, 'the firmware has no entry for network boot: the rescue system may be unreachable');
  if (removed.length > 0) log.info({ removed }, 'boot entries of earlier systems were removed');
  return done({ bootOrder: order.join(', ') });
}

/** Before: anything. After: the next boot is from the disk. Done when Robot reports that nothing is armed. */
const rescueDisarmed: Step<RobotStepContext> = {
  name: 'rescue-disarmed',
  run: (context) =>
    runOrWait(async () => {
      const { number } = (await claimedRescueTarget(context)).host;
      const robot = robotClientFor(context, context.hosts.servers);
      const boot = await robot.getBoot(number, context);
      if (boot.armedInstallers.length > 0) return failInstallerArmed(number, boot.armedInstallers);
      if (boot.rescue?.active) await robot.disarmRescue(number, context);
      return done();
    }),
};

/**
 * Before: everything is in place. After: the rescue system reboots. Silence after the second attempt means that the
 * server reboots already; after the first, the command may not have arrived.
 */
const rebooted: Step<RobotStepContext> = {
  name: 'rebooted',
  async run(context) {
    const { address } = await claimedRescueTarget(context);
    try {
      await runInRescue(context, address, (rescue) => rescue.reboot());
    } catch (error) {
      if (!isRescueUnreachable(error)) throw error;
      const rebootTriedAt = context.clock.now().toISOString();
      if (textFact(context, 'rebootTriedAt') === '')
        return wait(10, `It is unknown whether the server reboots. ${(error as Error).message}`, { rebootTriedAt });
    }
    return done({ rebootedAt: context.clock.now().toISOString(), rebootTriedAt: '' });
  },
};

/** Installs Talos with its configuration on the server of a free Host. */
export const provision: readonly Step<RobotStepContext>[] = [
  hostClaimed,
  serverIdentified,
  serverMarked,
  vswitchJoined,
  ...rescueSteps,
  hardwareInspected,
  intentRecorded,
  disksWiped,
  imageWritten,
  bootOrderKept,
  rescueDisarmed,
  rebooted,
  maintenanceReached,
  configApplied,
].map((step) => ({ deadlineMinutes: 10, ...step }));
