from sdpbb.runtime.extras import install_command, requirements


def test_commands_name_packages_that_an_index_has():
    assert install_command("plot") == "pip install 'matplotlib>=3.8'"
    assert "sdpbb" not in install_command("test")


def test_requirements_of_the_package_itself_are_those_without_an_extra():
    needed = requirements()
    assert any(text.startswith("numpy") for text in needed)
    assert not any(text.startswith(("matplotlib", "pytest")) for text in needed)
    assert requirements("none") == ()
