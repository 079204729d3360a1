/**
 * Sets the boot order twice, and prints the results as one line of JSON; argument: the file of the private key. Runs
 * beside a rescue system of real tools, in its network.
 */
import { readFileSync } from 'node:fs';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { openRescue } from '../../../../src/platforms/hetzner-robot/rescue/connect.ts';

const [keyFile = ''] = process.argv.slice(2);
const access = {
  ...{ address: '127.0.0.1', port: 2222, hostKey: undefined },
  privateKey: new SecretString(readFileSync(keyFile, 'utf8')),
};
const rescue = await openRescue(access, { signal: new AbortController().signal, seconds: 20 });
const { firmware } = await rescue.identify();
const [first, second] = [await rescue.bootOrder(), await rescue.bootOrder()];
rescue.close();
process.stdout.write(`${JSON.stringify({ firmware, first, second })}\n`);
process.exit(0);
