import type { Interceptor, StreamResponse, UnaryResponse } from '@connectrpc/connect';
import { endsAfter, endsBefore } from '../../course.ts';
import type { Fault } from '../../switchboard.ts';
import type { Node } from '../node.ts';
import { rolesKey } from './context.ts';
import { denied, toFaultError, unavailable, unimplemented } from './errors.ts';
import { forward } from './forward.ts';
import { knownRoles, mayCall } from './roles.ts';
import { type Caller, callerKey } from './server.ts';

/** Everything that happens before a method: it is written down, faults are applied, the caller is judged, the call is passed on. */
export const gate =
  (node: Node, maintenance: boolean): Interceptor =>
  (next) =>
  async (request) => {
    const method = `${request.service.typeName}/${request.method.name}`;
    const caller = request.contextValues.get(callerKey);
    const detail = { node: node.machine.name, address: node.addresses[0] };
    const from = caller.session?.socket?.remoteAddress;
    const content = request.stream ? undefined : request.message;
    const fault = node.world.switchboard.pass('talos', method, detail, content, from);
    if (await endsBefore(fault)) throw cut(caller);
    if (fault?.kind === 'error') throw toFaultError(fault);
    if (maintenance && node.minor < 13 && !oldMaintenance.test(method)) {
      throw unimplemented('API is not implemented in maintenance mode');
    }
    const roles = rolesOf(caller, request.header, maintenance);
    if (!mayCall(method, roles, maintenance)) throw denied();
    request.contextValues.set(rolesKey, roles);
    return await answer(fault, caller, async () => {
      return (await (maintenance ? undefined : forward(node, request, roles))) ?? (await next(request));
    });
  };

/** Until Talos 1.12 maintenance mode was a service of its own, with these calls alone. */
const oldMaintenance =
  /^(?:machine\.MachineService\/ApplyConfiguration|cosi\.resource\.State\/|storage\.StorageService\/)/;

function rolesOf(caller: Caller, header: Headers, maintenance: boolean): ReadonlySet<string> {
  if (maintenance) return new Set(['os:reader']);
  const roles = caller.organizations.filter((organization) => knownRoles.has(organization));
  if (!roles.includes('os:impersonator')) return new Set(roles);
  const asked = (header.get('talos-role') ?? '').split(',').map((role) => role.trim());
  return new Set(asked.filter((role) => knownRoles.has(role)));
}

/** Does the work and hands its answer on, unless a fault loses it. A refusal is an answer, too. */
async function answer<A extends UnaryResponse | StreamResponse>(
  fault: Fault | undefined,
  caller: Caller,
  work: () => Promise<A>,
): Promise<A> {
  const [outcome] = await Promise.allSettled([work()]);
  const isLost = fault?.kind === 'lose-reply' || fault?.kind === 'silence';
  if (outcome.status === 'fulfilled' && isLost && outcome.value.stream) {
    for await (const _message of outcome.value.message);
  }
  if (await endsAfter(fault)) throw cut(caller);
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Ends the connection under the caller. */
function cut(caller: Caller): Error {
  caller.session?.destroy();
  return unavailable('the connection was cut');
}
