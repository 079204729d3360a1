import type { RescueProcess, RescueProgram } from '../process.ts';

/** The system goes down: the program never ends, its channel does. */
const goDown =
  (kind: (args: readonly string[]) => 'reboot' | 'off'): RescueProgram =>
  async (process) => {
    process.system.goDown(kind(process.args));
    return await untilTheEnd(process);
  };

/** sshd closes the channel of whoever asked, a moment later. */
async function untilTheEnd(process: RescueProcess): Promise<number> {
  await process.sleep(0.5);
  return 0;
}

export const powerTools: Readonly<Record<string, RescueProgram>> = {
  reboot: goDown(() => 'reboot'),
  poweroff: goDown(() => 'off'),
  halt: goDown(() => 'off'),
  shutdown: goDown((args) => (args.includes('-r') ? 'reboot' : 'off')),
};
