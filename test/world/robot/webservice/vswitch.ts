import type { Account, Robot, Server, VSwitch } from '../state.ts';
import { later } from '../time.ts';
import { type Ask, created, type Endpoint, empty, findServer, identityOf, ok } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { text, texts } from './form.ts';

const lowestVlan = 4000;
const highestVlan = 4091;
/** Hetzner docs: vSwitch. */
const mostServers = 100;
const mostPerServer = 5;

const summary = ({ id, name, vlan, cancelled }: VSwitch) => ({ id, name, vlan, cancelled });

function describe({ servers, behaviour }: Robot, vswitch: VSwitch) {
  const server = [...vswitch.members].flatMap(([number, status]) => {
    const member = servers.get(number);
    return member ? [{ ...identityOf(member), status: status === 'in process' ? behaviour.inProcess : status }] : [];
  });
  return { ...summary(vswitch), server, subnet: [], cloud_network: [] };
}

function vswitchIn({ account, params }: Ask): VSwitch {
  const vswitch = account.vswitches.get(Number(params['id']));
  if (!vswitch) throw notFound();
  return vswitch;
}

/** One to change: nothing goes while a member comes or goes, and nothing after the end. */
function changeable(ask: Ask): VSwitch {
  const vswitch = vswitchIn(ask);
  if ([...vswitch.members.values()].includes('in process')) {
    throw conflict('VSWITCH_IN_PROCESS', 'there is an update in process');
  }
  if (vswitch.cancelled) throw conflict('CONFLICT', 'the vSwitch is cancelled');
  return vswitch;
}

function wanted(ask: Ask, current?: VSwitch): { name: string; vlan: number } {
  const { account, form } = ask;
  const [name, vlan] = [text(form, 'name'), text(form, 'vlan')];
  if (name === undefined || vlan === undefined) {
    throw invalidInput({ missing: [...(name === undefined ? ['name'] : []), ...(vlan === undefined ? ['vlan'] : [])] });
  }
  const number = /^\d+$/.test(vlan) ? Number(vlan) : 0;
  if (number < lowestVlan || number > highestVlan) throw invalidInput({ invalid: ['vlan'] });
  if (name === '') throw invalidInput({ invalid: ['name'] });
  const isTaken = [...account.vswitches.values()].some((one) => one !== current && one.vlan === number);
  if (isTaken) throw conflict('VSWITCH_VLAN_NOT_UNIQUE', 'there is a vSwitch with this VLAN already');
  return { name, vlan: number };
}

function serversIn({ robot, account, form }: Ask): Server[] {
  const words = texts(form, 'server').filter((word) => word !== '');
  if (words.length === 0) throw invalidInput({ missing: ['server'] });
  return words.map((word) => {
    const server = findServer(robot, account, word);
    if (!server) throw notFound('SERVER_NOT_FOUND', 'server not found');
    return server;
  });
}

const memberships = (account: Account, server: Server): number =>
  [...account.vswitches.values()].filter(({ members }) => members.has(server.number)).length;

function attach(ask: Ask) {
  const vswitch = changeable(ask);
  const fresh = serversIn(ask).filter(({ number }) => !vswitch.members.has(number));
  if (vswitch.members.size + fresh.length > mostServers) {
    throw conflict('VSWITCH_SERVER_LIMIT_REACHED', 'too many servers in this vSwitch');
  }
  if (fresh.some((server) => memberships(ask.account, server) >= mostPerServer)) {
    throw conflict('VSWITCH_PER_SERVER_LIMIT_REACHED', 'the server is in too many vSwitches');
  }
  process(ask, vswitch, fresh, (number) => vswitch.members.set(number, 'ready'));
  return created();
}

function detach(ask: Ask) {
  const vswitch = changeable(ask);
  const gone = serversIn(ask).filter(({ number }) => vswitch.members.has(number));
  process(ask, vswitch, gone, (number) => vswitch.members.delete(number));
  return empty;
}

function process({ robot }: Ask, { members }: VSwitch, servers: readonly Server[], end: (number: number) => void) {
  for (const { number } of servers) members.set(number, 'in process');
  later(robot, robot.delays.vswitchSeconds, () => {
    for (const { number } of servers) end(number);
  });
}

/** At once, or on a day: then it is there until that day. */
function cancel(ask: Ask) {
  const vswitch = changeable(ask);
  const date = text(ask.form, 'cancellation_date');
  if (date === undefined) throw invalidInput({ missing: ['cancellation_date'] });
  if (date !== 'now' && !/^\d{4}-\d{2}-\d{2}$/.test(date)) throw invalidInput({ invalid: ['cancellation_date'] });
  vswitch.cancelled = true;
  if (date === 'now') {
    later(ask.robot, ask.robot.delays.vswitchSeconds, () => ask.account.vswitches.delete(vswitch.id));
  }
  return empty;
}

const group = 'vswitch';

/** Objects are naked here, and what changes something mostly answers nothing. */
export const vswitchEndpoints: readonly Endpoint[] = [
  { method: 'GET', path: '/vswitch', group, handle: ({ account }) => ok([...account.vswitches.values()].map(summary)) },
  {
    method: 'POST',
    path: '/vswitch',
    group,
    handle: (ask) => {
      const { robot, account } = ask;
      const choice = wanted(ask);
      if (account.vswitches.size >= robot.behaviour.mostVSwitches) {
        throw conflict('VSWITCH_LIMIT_REACHED', 'too many vSwitches');
      }
      const vswitch: VSwitch = { id: robot.nextId++, ...choice, cancelled: false, members: new Map() };
      account.vswitches.set(vswitch.id, vswitch);
      return created(describe(robot, vswitch));
    },
  },
  { method: 'GET', path: '/vswitch/{id}', group, handle: (ask) => ok(describe(ask.robot, vswitchIn(ask))) },
  {
    method: 'POST',
    path: '/vswitch/{id}',
    group,
    handle: (ask) => {
      const vswitch = changeable(ask);
      Object.assign(vswitch, wanted(ask, vswitch));
      return created();
    },
  },
  { method: 'DELETE', path: '/vswitch/{id}', group, handle: cancel },
  { method: 'POST', path: '/vswitch/{id}/server', group, handle: attach },
  { method: 'DELETE', path: '/vswitch/{id}/server', group, handle: detach },
];
