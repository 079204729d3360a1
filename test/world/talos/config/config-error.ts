/** The error that a node answers (InvalidArgument) or logs when a configuration does not decode or validate. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Several errors in the form of hashicorp/go-multierror. */
export function errorList(errors: readonly string[]): string {
  const count = errors.length === 1 ? '1 error' : `${errors.length} errors`;
  return `${count} occurred:\n${errors.map((error) => `\t* ${error}`).join('\n')}\n\n`;
}
