import type { AccountState, RobotState, ServerState, VSwitchState } from '../../state.ts';
import { runLater } from '../../world-time.ts';
import {
  createdReply,
  emptyReply,
  endpoint,
  findServerByWord,
  okReply,
  type RobotEndpoint,
  serverIdentityFields,
  type WebserviceRequest,
} from '../endpoint.ts';
import { conflictRobotError, invalidInputError, notFoundRobotError } from '../errors.ts';
import { formText, formTexts } from '../php-form.ts';

const lowestVlan = 4000;
const highestVlan = 4091;
/** Hetzner docs: vSwitch. */
const maximumServers = 100;
const maximumPerServer = 5;

const summary = ({ id, name, vlan, cancelled }: VSwitchState) => ({ id, name, vlan, cancelled });

function describe({ servers, behaviour }: RobotState, vswitch: VSwitchState) {
  const server = [...vswitch.members].flatMap(([number, status]) => {
    const member = servers.get(number);
    return member
      ? [{ ...serverIdentityFields(member), status: status === 'in process' ? behaviour.inProcess : status }]
      : [];
  });
  return { ...summary(vswitch), server, subnet: [], cloud_network: [] };
}

function vswitchOfRequest({ account, params }: WebserviceRequest): VSwitchState {
  const vswitch = account.vswitches.get(Number(params['id']));
  if (!vswitch) throw notFoundRobotError();
  return vswitch;
}

/** A vSwitch to change: changes are refused while a member is added or removed, and after the end. */
function changeableVSwitch(ask: WebserviceRequest): VSwitchState {
  const vswitch = vswitchOfRequest(ask);
  if ([...vswitch.members.values()].includes('in process')) {
    throw conflictRobotError('VSWITCH_IN_PROCESS', 'there is an update in process');
  }
  if (vswitch.cancelled) throw conflictRobotError('CONFLICT', 'the vSwitch is cancelled');
  return vswitch;
}

function vswitchFromForm({ account, form }: WebserviceRequest): { name: string; vlan: number } {
  const [name, vlan] = [formText(form, 'name'), formText(form, 'vlan')];
  if (name === undefined || vlan === undefined) {
    throw invalidInputError({
      missing: [...(name === undefined ? ['name'] : []), ...(vlan === undefined ? ['vlan'] : [])],
    });
  }
  const number = /^\d+$/.test(vlan) ? Number(vlan) : 0;
  if (number < lowestVlan || number > highestVlan) throw invalidInputError({ invalid: ['vlan'] });
  if (name === '') throw invalidInputError({ invalid: ['name'] });
  const isTaken = [...account.vswitches.values()].some((one) => one.vlan === number);
  if (isTaken) throw conflictRobotError('VSWITCH_VLAN_NOT_UNIQUE', 'there is a vSwitch with this VLAN already');
  return { name, vlan: number };
}

function serversIn({ robot, account, form }: WebserviceRequest): ServerState[] {
  const words = formTexts(form, 'server').filter((word) => word !== '');
  if (words.length === 0) throw invalidInputError({ missing: ['server'] });
  return words.map((word) => {
    const server = findServerByWord(robot, account, word);
    if (!server) throw notFoundRobotError('SERVER_NOT_FOUND', 'server not found');
    return server;
  });
}

const memberships = (account: AccountState, server: ServerState): number =>
  [...account.vswitches.values()].filter(({ members }) => members.has(server.number)).length;

function attach(ask: WebserviceRequest) {
  const vswitch = changeableVSwitch(ask);
  const fresh = serversIn(ask).filter(({ number }) => !vswitch.members.has(number));
  if (vswitch.members.size + fresh.length > maximumServers) {
    throw conflictRobotError('VSWITCH_SERVER_LIMIT_REACHED', 'too many servers in this vSwitch');
  }
  if (fresh.some((server) => memberships(ask.account, server) >= maximumPerServer)) {
    throw conflictRobotError('VSWITCH_PER_SERVER_LIMIT_REACHED', 'the server is in too many vSwitches');
  }
  changeMembersLater(ask, vswitch, fresh, (number) => vswitch.members.set(number, 'ready'));
  return createdReply();
}

function detach(ask: WebserviceRequest) {
  const vswitch = changeableVSwitch(ask);
  const gone = serversIn(ask).filter(({ number }) => vswitch.members.has(number));
  changeMembersLater(ask, vswitch, gone, (number) => vswitch.members.delete(number));
  return emptyReply;
}

function changeMembersLater(
  { robot }: WebserviceRequest,
  { members }: VSwitchState,
  servers: readonly ServerState[],
  end: (number: number) => void,
) {
  for (const { number } of servers) members.set(number, 'in process');
  runLater(robot, robot.delays.vswitchSeconds, () => {
    for (const { number } of servers) end(number);
  });
}

/** Objects are unwrapped here, and most changes have empty answers. */
export const vswitchEndpoints: readonly RobotEndpoint[] = [
  endpoint('GET /vswitch', ({ account }) => okReply([...account.vswitches.values()].map(summary))),
  endpoint('POST /vswitch', (ask) => {
    const { robot, account } = ask;
    const choice = vswitchFromForm(ask);
    if (account.vswitches.size >= robot.behaviour.mostVSwitches) {
      throw conflictRobotError('VSWITCH_LIMIT_REACHED', 'too many vSwitches');
    }
    const vswitch: VSwitchState = { id: robot.nextId++, ...choice, cancelled: false, members: new Map() };
    account.vswitches.set(vswitch.id, vswitch);
    return createdReply(describe(robot, vswitch));
  }),
  endpoint('GET /vswitch/{id}', (ask) => okReply(describe(ask.robot, vswitchOfRequest(ask)))),
  endpoint('POST /vswitch/{id}/server', attach),
  endpoint('DELETE /vswitch/{id}/server', detach),
];
