import { readFile, writeFile } from 'node:fs/promises';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { accessRoles } from '../../../../src/commands/access/find-cluster-access.ts';
import { runProgram } from '../../../support/run-program.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** Takes a backup with the command, and decrypts it in place. Returns what the paths of its files begin with. */
export async function takeDecryptedBackup(testbed: Testbed, ref: NamespacedRef, folder: string): Promise<string> {
  const identity = await generateIdentity();
  const kubeconfig = await testbed.kubeconfigWith(accessRoles.file);
  const recipient = await identityToRecipient(identity);
  const { code, out, err } = await runProgram(
    ...['backup', '--cluster', `${ref.namespace}/${ref.name}`, '--kubeconfig', kubeconfig],
    ...['--output-folder', folder, '--recipient', recipient],
  );
  if (code !== 0) throw new Error(`the backup failed: ${err}`);
  const paths = out.trim().split('\n');
  for (const path of paths) {
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    await writeFile(path.replace(/age$/, 'yaml'), await decrypter.decrypt(await readFile(path)));
  }
  return (paths[0] ?? '').replace(/\.etcd\.age$/, '');
}
