import { describeRejections, type HostView } from '../../../engine/host.ts';
import type { NodeSpec } from '../../../engine/node.ts';
import { done, fail, type Step, type StepOutcome, wait, waitWithReason } from '../../../engine/step.ts';
import type { CachedCallOptions } from '../api/client.ts';
import type { RobotServer } from '../api/schema.ts';
import type { RobotConfig } from '../config.ts';
import { accountIdFor, getClaimedHost, type RobotStepContext, robotClientFor } from '../context.ts';
import { type DiskPlan, planDisks } from '../hosts/disk-plan.ts';
import { type RobotHost, toRobotHost } from '../hosts/robot-host.ts';
import { selectorMismatch } from '../hosts/selector.ts';
import { markOf, ownershipByName } from '../mark.ts';
import { runOrWait } from './run-or-wait.ts';

/** Retry interval. People add and remove Hosts rarely, and a change of a Host triggers a reconcile anyway. */
const noHostRequeueSeconds = 60;

/**
 * Before: nothing. After: the machine holds a Host, alone. Done when a Host names it. Labels, role and the known disks
 * decide which Host fits; without one the step waits.
 */
export const hostClaimed: Step<RobotStepContext> = {
  name: 'host-claimed',
  async run(context) {
    const { hosts, config, node } = context;
    const host = await hosts.claim((candidate) => hostRejectionReason(candidate, config, node));
    if ('rejected' in host)
      return waitWithReason('HostShort', noHostRequeueSeconds, describeRejections(node.size, host.rejected));
    return done({ host: host.name, server: toRobotHost(host).number, account: accountIdFor(context) });
  },
};

/** Why a Host does not fit this node, to follow a count. */
export function hostRejectionReason(
  host: HostView,
  config: RobotConfig,
  node: Pick<NodeSpec, 'role' | 'size'>,
): string | undefined {
  const size = config.sizes.find(({ name }) => name === node.size);
  if (!size) return `not of size ${node.size}, which hetznerRobot.sizes does not define`;
  const unselected = selectorMismatch(size.hostSelector, host.labels);
  if (unselected) return unselected;
  if (!host.spec.roles.includes(node.role)) return `not for the role ${node.role}`;
  return host.hardware && diskRejectionReason(planDisks(host.spec, host.hardware.disks));
}

function diskRejectionReason(plan: DiskPlan): string | undefined {
  if (!('refused' in plan)) return undefined;
  return plan.reason === 'DiskFailing' ? 'with a failing root disk' : 'without a disk that may be used';
}

/**
 * Before: a Host is held. After: its server matches the Host and has no other owner. Done when Robot's answer confirms
 * it.
 */
export const serverIdentified: Step<RobotStepContext> = {
  name: 'server-identified',
  run: (context) =>
    runOrWait(async () => {
      const host = await getClaimedHost(context);
      const server = await findHostServer(context, host);
      if (!server) return fail('ServerUnfit', describeMissingServer(host));
      const refused = unfitReason(host, server);
      if (refused) return fail('ServerUnfit', refused);
      if (server.status !== 'ready') return wait(60, `Hetzner is still setting up server ${server.number}.`);
      const owner = ownershipByName(server.name, context.owner, host.spec.expect.name);
      // On a platform cluster that has taken the place of another one, our own mark does not prove that it is unused.
      if (owner === 'others' || (context.isImported && owner !== 'nobody'))
        return fail('OwnedByOthers', describeForeignServer(server));
      const { address = '', ipv6Net = '', product, dc } = server;
      await context.hosts.updateStatus({ server: { address, ipv6Net, product, location: dc } });
      // A name that this provider gave is not restored at release.
      const formerName = { ours: {}, stale: { formerName: '' }, nobody: { formerName: server.name } }[owner];
      return done({ address, ipv6Net, ...formerName });
    }),
};

/**
 * Machines of one cluster ask at about the same time, and one answer lists all servers. An answer of this age is enough
 * where another check protects the server: before it is marked the last check does, afterwards the mark itself, which
 * other controllers see before they mark.
 */
const listMaxAgeSeconds = 60;
/** Maximum age of the answer before our mark replaces another name. */
const beforeRenameMaxAgeSeconds = 30;

/** The server of a Host as Robot reports it now; undefined: the account does not have this number. */
export async function findHostServer(
  context: RobotStepContext,
  host: Pick<RobotHost, 'number'>,
  freshness: Omit<CachedCallOptions, 'signal'> = {},
): Promise<RobotServer | undefined> {
  const robot = robotClientFor(context, context.hosts.servers);
  const all = await robot.listServers({ signal: context.signal, maxAgeSeconds: listMaxAgeSeconds, ...freshness });
  return all.find(({ number }) => number === host.number);
}

/**
 * Finds a server that this machine has marked. A lost mark makes the machine give the server up for good, so only a
 * fresh answer counts as proof of that.
 */
export async function findMarkedServer(
  context: RobotStepContext,
  host: RobotHost,
  freshness: Omit<CachedCallOptions, 'signal'> = {},
): Promise<RobotServer | undefined> {
  const server = await findHostServer(context, host, freshness);
  return server?.name === markOf(context.owner) ? server : await findHostServer(context, host, { maxAgeSeconds: 0 });
}

/** The message for a server that the account does not have. */
export const describeMissingServer = ({ name, number }: Pick<RobotHost, 'name' | 'number'>): string =>
  `The account has no server ${number}. Use the credentials of the account with this server, or delete Host ${name} and create one for the correct server.`;

/** Why a server must not be used, as a sentence; undefined: it matches the Host and is usable. */
export function unfitReason({ name, spec }: Pick<HostView, 'name' | 'spec'>, server: RobotServer): string | undefined {
  const { expect } = spec;
  const differs = (what: string, expected: string | undefined, found: string): string | undefined =>
    expected === undefined || expected === found
      ? undefined
      : `Host ${name} expects ${what} ${expected} of server ${server.number}, which has ${found || 'none'}. Correct spec.expect, or create a Host for the correct server.`;
  return (
    differs('the address', expect.address, server.address ?? '') ??
    differs('the product', expect.product, server.product) ??
    (server.cancelled ? `Server ${server.number} was cancelled at Hetzner. Delete Host ${name}.` : undefined) ??
    (server.address === undefined
      ? `Server ${server.number} has no IPv4 address, which is required. Order one, or delete Host ${name}.`
      : undefined)
  );
}

/** The message for a server whose name shows another owner. */
export const describeForeignServer = ({ number, name }: RobotServer): string =>
  `Server ${number} has the name ${name} in Robot, which marks servers in use. If the server is unused, rename it in Robot.`;

/**
 * Before: the server has no owner. After: its name in Robot is the mark of this machine. Done when it has that name.
 * The former name is recorded before.
 */
export const serverMarked: Step<RobotStepContext> = {
  name: 'server-marked',
  run: (context) =>
    runOrWait(async (): Promise<StepOutcome> => {
      const host = await getClaimedHost(context);
      const { spec, number } = host;
      const robot = robotClientFor(context, context.hosts.servers);
      const mark = markOf(context.owner);
      // The call may have been queued since the last check, and another client may have marked the server meanwhile.
      const known = await findHostServer(context, host, { maxAgeSeconds: beforeRenameMaxAgeSeconds });
      if (known && ownershipByName(known.name, context.owner, spec.expect.name) === 'others') {
        return fail('OwnedByOthers', describeForeignServer(known));
      }
      const { name } = await robot.renameServer(number, mark, context);
      if (name === mark) return done();
      return fail('NameRefused', `Server ${number} has the name ${name} in Robot after it was renamed to ${mark}.`);
    }),
};

/**
 * Why a marked server is not ours any more, as a sentence; undefined: it still has our mark in Robot's current answer.
 * Two controllers can mark a server at the same moment, and users rename servers: the last name counts. So a list from
 * before our own rename proves nothing, even where our mark was written into it. Entering rescue takes longer than both
 * maximum ages together, so by then every controller that saw the server without our mark has marked it.
 */
export async function lostOwnershipReason(context: RobotStepContext, host: RobotHost): Promise<string | undefined> {
  const server = await findMarkedServer(context, host, { withoutUpdates: host.number });
  if (!server) return describeMissingServer(host);
  const mark = markOf(context.owner);
  if (server.name === mark) return undefined;
  return `The name of server ${server.number} in Robot was changed from ${mark} to "${server.name}". If the server is not in use elsewhere, restore the name; otherwise delete the Machine.`;
}
