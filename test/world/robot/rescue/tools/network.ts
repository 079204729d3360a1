import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `ip -4 route show default`: IPv6 has no default route in the rescue system. */
const ip: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: '46' });
  if (operands.join(' ') !== 'route show default') return await process.fail('only route show default is simulated');
  const { hardware, network } = process.system;
  if (!options.has('6')) await process.out(`default via ${network.gateway} dev ${hardware.nics[0]?.name ?? 'eth0'} \n`);
  return 0;
};

export const networkTools: Readonly<Record<string, RescueProgram>> = { ip };
