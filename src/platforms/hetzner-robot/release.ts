import { done, fail, type Step, wait } from '../../engine/platform.ts';
import { uuid8 } from '../../lib/hash.ts';
import { findMarked, whyNotOurs, whyUnfit } from './claim.ts';
import { enterRescue, type Patient } from './enter-rescue.ts';
import { type Context, robotOf, textFact } from './ground.ts';
import { markOf } from './mark.ts';
import { fromJob } from './provision.ts';
import { waitFor } from './robot/wait-for.ts';
import { inProvenRescue } from './session.ts';
import { vswitchLeft } from './vswitch.ts';

/**
 * Before: anything. After: it is known whether the server is still ours to touch, and its Host says that it is being given
 * back. Done at once when no Host is held: a release never claims one. A server without our mark is given up untouched.
 */
const claimChecked: Step<Context> = {
  name: 'claim-checked',
  run: (context) =>
    waitFor(async () => {
      const host = await context.hosts.held();
      if (!host) return done({ untouchable: true });
      if (host.spec.maintenance) {
        return wait(60, `Host ${host.name} is in maintenance: nothing is done to it until spec.maintenance is false.`);
      }
      const server = await findMarked(context, host);
      // It was given back to Hetzner, with all that was on it.
      if (!server || server.cancelled) return done({ untouchable: true });
      const refused = whyUnfit(host, server);
      if (refused) return fail('ServerUnfit', refused);
      const isMarked = server.name === markOf(context.owner);
      if (isMarked) await context.hosts.note({ state: 'Deprovisioning' });
      return done({ untouchable: !isMarked });
    }),
};

/** The server, if it is ours and something of ours is on its disks. */
async function soiled(context: Context): Promise<Patient | undefined> {
  if (context.facts['untouchable'] === true || textFact(context, 'operation') === '') return undefined;
  const host = await context.hosts.held();
  if (!host) return undefined;
  const address = textFact(context, 'address');
  return {
    host,
    address,
    macs: [textFact(context, 'mac')],
    servers: context.hosts.servers,
    isOurs: true,
    node: context.ownNode(address),
    noteResetTypes: async (resetTypes) => {
      if (host.server) await context.hosts.note({ server: { ...host.server, resetTypes } });
    },
  };
}

/**
 * Before: the server is in rescue again. After: the disks that we wrote to are blank, and no others. Done when that work has
 * ended well.
 */
const leftoversWiped: Step<Context> = {
  name: 'leftovers-wiped',
  deadlineMinutes: 20,
  async run(context) {
    const patient = await soiled(context);
    if (!patient) return done();
    const { installation, provider, machine } = context.owner;
    const operation = uuid8('release', installation, provider, machine, textFact(context, 'rescueBootId'));
    const root = { serial: textFact(context, 'rootSerial'), wwn: textFact(context, 'rootWwn') };
    return await inProvenRescue(context, patient.address, 'leftovers-armed', async (rescue) =>
      fromJob(await rescue.wipe(operation, [root])),
    );
  },
};

/**
 * Before: anything. After: nothing is armed, and the server has the name again that it had, unless others took it meanwhile. Done
 * when Robot says so.
 */
const nameRestored: Step<Context> = {
  name: 'name-restored',
  run: (context) =>
    waitFor(async () => {
      const host = context.facts['untouchable'] === true ? undefined : await context.hosts.held();
      if (!host || (await whyNotOurs(context, host))) return done();
      const robot = robotOf(context, context.hosts.servers);
      // One that was booted is used up. A process may have died before it wrote down that it armed one.
      if (textFact(context, 'rescueHostKey') === '') await robot.disarmRescue(host.spec.serverNumber, context);
      await robot.renameServer(host.spec.serverNumber, textFact(context, 'formerName'), context);
      return done();
    }),
};

/** Before: nothing of ours is on the server. After: others may have the Host. */
const hostReleased: Step<Context> = {
  name: 'host-released',
  async run(context) {
    await context.addresses.release();
    await context.hosts.release();
    return done();
  },
};

/** Back to a free Host, from any state in between. */
export const release: readonly Step<Context>[] = [
  claimChecked,
  ...enterRescue<Context>({ armed: 'leftovers-armed', reset: 'leftovers-reset', entered: 'leftovers-reached' }, soiled),
  leftoversWiped,
  vswitchLeft,
  nameRestored,
  hostReleased,
].map((step) => ({ deadlineMinutes: 10, ...step }));
