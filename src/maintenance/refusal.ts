import { ExitCode, ExpectedFailure } from "../protocol/failure.ts";

/** An operator's command that cannot be carried out: what is wrong, and one thing to do about it. The exit code is "usage". */
export class Refusal extends ExpectedFailure {
  override readonly name = "Refusal";
  readonly exitCode = ExitCode.usage;
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}
